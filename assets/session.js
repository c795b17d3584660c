// Settings stay in the entry of the history of their page, or step of the lesson: one step back is one page
// back; a new step begins at its top. And a reload finds its session: the name of this tab's session is in a
// cookie from the end of one page to the start of the next. The button of a figure's menu presses its camera.
// A link asks before it ends an upload, whose file would be lost without a word.
// On a narrow window the menu closes after a choice.
// A number and its percent sign stay on one line.
// Figures are drawn by the server: when the theme of the page changes, it is asked to draw them again. So it is
// after a lost connection: a server that was restarted has lost what the page still shows, and says so.
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
    figure?.querySelector(".modebar-btn[data-title^='Download']")?.click();
  });
  addEventListener("click", (event) => {
    if (innerWidth >= 768 || !event.target.closest?.("[data-testid=stSidebarNavLink]")) return;
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click(), 100);
  });
  const app = document.querySelector("[data-testid=stApp]");
  const look = () => [getComputedStyle(app).colorScheme, app.dataset.testConnectionState];
  let [drawn, link] = look();
  new MutationObserver(() => {
    const [theme, now] = look();
    const again = theme !== drawn || (now === "CONNECTED" && link !== now);
    [drawn, link] = [theme, now];
    if (again) setTimeout(() => document.querySelector(".st-key-run-again button")?.click(), 50);
  }).observe(app, { attributeFilter: ["class", "data-test-connection-state"] });
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
