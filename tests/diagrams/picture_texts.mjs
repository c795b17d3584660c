// Print what the living picture shows: for each picture, view, binning and number of bins, the texts of all cells.
import { readFileSync } from "node:fs";
import { binsOf, cellsOf, exactCells, fixed, percent, unpack } from "../../calib/diagrams/living/picture.js";

const pictures = JSON.parse(readFileSync(0, "utf8"));
const found = [];
for (const { data, hands = [] } of pictures) {
  const picture = await unpack(data);
  const shown = { shown: [], hands: [] };
  picture.views.forEach((view, number) => {
    for (const mode of ["uniform", "mass"]) {
      for (let bins = 2; bins <= 50; bins++) {
        const cells = exactCells(view, picture.groups, binsOf(view, { mode, bins }), { mode, bins });
        const texts = [...cells.count.keys()]
          .filter((at) => cells.count[at])
          .map((at) => [
            Math.floor(at / cells.bins) - 1,
            at % cells.bins,
            cells.count[at],
            fixed(cells.score[at], 3),
            fixed(cells.right[at], 3),
            percent(cells.right[at]),
          ]);
        shown.shown.push([number, mode, bins, texts]);
      }
    }
    for (const own of picture.own["-1"] ? [picture.own["-1"][number]] : []) {
      shown.own = [...(shown.own ?? []), [...cellsOf(view, picture.groups, binsOf(view, { mode: "own", own }).cuts).count]];
    }
    for (const edges of hands) {
      const { cuts } = binsOf(view, { mode: "hand", edges });
      shown.hands.push([...cellsOf(view, picture.groups, cuts).count]);
    }
  });
  found.push(shown);
}
process.stdout.write(JSON.stringify(found));
