// Settings stay in the entry of the history of their page, or step of the lesson: one step back is one page
// back; a new step begins at its top. And a reload finds its session: the name of this tab's session is in a
// cookie from the end of one page to the start of the next. The button of a figure's menu presses its camera.
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
    const key = event.target.closest?.("[data-calib-save]")?.dataset.calibSave;
    if (key === undefined) return;
    const figure = document.querySelector(`.st-key-${CSS.escape(key)} .js-plotly-plot`);
    figure?.querySelector(".modebar-btn[data-title^='Download']")?.click();
  });
  const app = document.querySelector("[data-testid=stApp]");
  const theme = () => getComputedStyle(app).colorScheme;
  let drawn = theme();
  new MutationObserver(() => {
    if (theme() === drawn) return;
    drawn = theme();
    setTimeout(() => document.querySelector(".st-key-other-theme button")?.click(), 50);
  }).observe(app, { attributeFilter: ["class"] });
  const remember = (name, seconds) => {
    document.cookie = `calib-tab=${name}; max-age=${seconds}; path=/; samesite=strict`;
  };
  remember("", 0);
  addEventListener("pagehide", () => {
    const tab = document.querySelector("[data-calib-tab]");
    if (tab !== null) remember(tab.dataset.calibTab, 60);
  });
}
