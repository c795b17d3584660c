// Settings stay in the entry of the history of their page, or step of the lesson: one step back is one page
// back; a new step begins at its top. And a reload finds its session: the name of this tab's session is in a
// cookie from the end of one page to the start of the next. The button of a figure's menu presses its camera,
// or prints what the camera saves.
// A link asks before it ends an upload, whose file would be lost without a word.
// On a narrow window the menu closes after a choice.
// A number and its percent sign stay on one line.
// Figures are drawn by the server: when the theme of the page changes, it is asked to draw them again.
if (!window.calibSession) {
  window.calibSession = true;
  const push = history.pushState;
  const place = (url) => {
    const at = new URL(url, location.href);
    return at.pathname + "?" + (at.searchParams.get("step") ?? "");
  };
  // Streamlit takes the settings out of the address of the page that a link leaves, before it opens the other.
  let left = null;
  addEventListener("click", (event) => {
    if (event.target.closest?.("a[href]") === null) return;
    left = location.href;
    setTimeout(() => { left = null; }, 10_000);
  }, true);
  const isReading = (bar) => bar.textContent.startsWith("Reading");
  addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-testid=stSidebarNavLink], [data-testid=stPageLink] a")) return;
    const uploads = document.querySelector("[data-testid=stFileChipIconSpinner]") !== null;
    if (!uploads && ![...document.querySelectorAll("[data-testid=stProgress]")].some(isReading)) return;
    if (confirm("The file is not loaded yet, and leaving this page ends its upload. Leave all the same?")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  history.pushState = function (state, title, url) {
    const same = place(url) === place(location.href);
    if (!same && left !== null && place(left) === place(location.href)) {
      history.replaceState(history.state, "", left);
    }
    if (!same) left = null;
    if (!same) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    return (same ? history.replaceState : push).call(history, state, title, url);
  };
  addEventListener("click", (event) => {
    const wanted = event.target.closest?.("[data-calib-save]")?.dataset;
    if (wanted === undefined) return;
    const figure = document.querySelector(`.st-key-${CSS.escape(wanted.calibSave)} .js-plotly-plot`);
    if ("calibPrint" in wanted && figure !== null) printSaved(figure);
    figure?.querySelector(".modebar-btn[data-title^='Download']")?.click();
  });
  // Print the next picture that a camera saves instead of saving it, on a page of the size of the figure.
  const save = HTMLAnchorElement.prototype.click;
  const printSaved = (figure) => {
    HTMLAnchorElement.prototype.click = function () {
      if (this.download === "") return save.call(this);
      HTMLAnchorElement.prototype.click = save;
      fetch(this.href).then((answer) => answer.blob()).then((blob) => {
        const { width, height } = figure.getBoundingClientRect();
        const frame = document.createElement("iframe");
        frame.title = this.download;
        frame.style.cssText = "position: fixed; width: 0; height: 0; border: 0";
        document.body.append(frame);
        const page = frame.contentDocument;
        const [picture, style] = [page.createElement("img"), page.createElement("style")];
        page.title = this.download.replace(/\.\w+$/, "");
        style.textContent = `@page { size: ${width}px ${height}px; margin: 0 } body { margin: 0 }
          img { display: block; width: ${width}px; height: ${height}px }`;
        page.head.append(style);
        page.body.append(picture);
        picture.onload = () => {
          frame.contentWindow.onafterprint = () => { frame.remove(); URL.revokeObjectURL(picture.src); };
          frame.contentWindow.print();
        };
        picture.src = URL.createObjectURL(blob);
      });
    };
    setTimeout(() => { HTMLAnchorElement.prototype.click = save; }, 10_000);  // should no picture come
  };
  addEventListener("click", (event) => {
    if (innerWidth >= 768 || !event.target.closest?.("[data-testid=stSidebarNavLink]")) return;
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click(), 100);
  });
  const app = document.querySelector("[data-testid=stApp]");
  const theme = () => getComputedStyle(app).colorScheme;
  let drawn = theme();
  new MutationObserver(() => {
    if (theme() === drawn) return;
    drawn = theme();
    setTimeout(() => document.querySelector(".st-key-other-theme button")?.click(), 50);
  }).observe(app, { attributeFilter: ["class"] });
  const join = (node) => {
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text = node.nodeType === Node.TEXT_NODE ? node : texts.nextNode(); text; text = texts.nextNode()) {
      if (/(\d|^) %/.test(text.data)) text.data = text.data.replace(/(\d|^) %/g, "$1\u00a0%");
    }
  };
  join(document.body);
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      (type === "characterData" ? [target] : addedNodes).forEach(join);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
  const remember = (name, seconds) => {
    document.cookie = `calib-tab=${name}; max-age=${seconds}; path=/; samesite=strict`;
  };
  remember("", 0);
  addEventListener("pagehide", () => {
    const tab = document.querySelector("[data-calib-tab]");
    if (tab !== null) remember(tab.dataset.calibTab, 60);
  });
}
