// What the living picture shows: for each picture, view, binning and number of bins, the texts of all cells.

/** `module` is calib/diagrams/living/picture.js, `pictures` its data with dragged edges. */
export async function texts(module, pictures) {
  return Promise.all(pictures.map((each) => shownBy(module, each)));
}

async function shownBy({ binsOf, cellsOf, exactCells, fixed, percent, unpack }, { data, hands = [] }) {
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
  return shown;
}
