/// The one script of the console: it reads a page again, and puts what has changed into its regions (``LiveRegion``).
///
/// It makes no markup of texts: the browser parses the page as any other one, and there, what a stranger wrote is
/// escaped. No page needs the script.
enum ConsoleScript {
  /// The last segment of its address.
  static let name = "refresh.js"

  static let source = """
    "use strict";
    {
      const regions = [...document.querySelectorAll("[data-live]")];
      const interval = Math.min(...regions.map((region) => Number(region.dataset.live)));
      const longestWait = 120;
      const paused = "countersign-updates-paused";
      let wait = interval;
      let due = performance.now() + wait * 1000;
      let timer, isReading = false, isStopped = false;

      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      const line = document.createElement("span");
      line.setAttribute("role", "status");
      const bar = document.createElement("div");
      bar.className = "updates";
      bar.append(button, line);
      document.querySelector("main").prepend(bar);

      const isPaused = () => sessionStorage.getItem(paused) !== null;

      // Only a pause, a wait and a stop are told: a reader's voice is no place for each refresh.
      function tell(words, link) {
        button.textContent = isStopped || isPaused() ? "Resume updates" : "Pause updates";
        if (line.textContent === words) return;
        line.textContent = words;
        if (!link) return;
        const anchor = document.createElement("a");
        anchor.href = location.href;
        anchor.textContent = link;
        line.append(" ", anchor);
      }

      // What a person uses just now stays: the focus, a selection, what is open, what the pointer is about to press.
      function isInUse(region) {
        const selection = getSelection();
        return region.contains(document.activeElement)
          || (!selection.isCollapsed && selection.containsNode(region, true))
          || region.querySelector("details[open], :is(a, button, summary):hover") !== null;
      }

      function replace(region, fresh) {
        for (const part of fresh.querySelectorAll("[role=status]")) part.removeAttribute("role");
        if (region.isEqualNode(fresh)) return;
        const places = [...region.querySelectorAll(".scroll")].map((table) => table.scrollLeft);
        region.replaceChildren(...fresh.childNodes);
        region.querySelectorAll(".scroll").forEach((table, at) => { table.scrollLeft = places[at] ?? 0; });
      }

      function stop(why, link) {
        isStopped = true;
        tell(`Updates stopped: ${why}.`, link);
      }

      function waitLonger(why) {
        wait = Math.min(2 * wait, longestWait);
        tell(`Updates wait for ${wait} seconds: ${why}.`);
      }

      async function read() {
        let answer, page;
        try {
          answer = await fetch(location.href, {
            headers: { "X-Countersign-Refresh": "1" }, redirect: "manual", signal: AbortSignal.timeout(30_000),
          });
          page = await answer.text();
        } catch {
          answer = null;
        }
        if (isPaused()) return;
        if (!answer) return waitLonger("the console does not answer");
        if (answer.type === "opaqueredirect" || answer.status === 401) {
          return stop("your session is over", "Sign in again");
        }
        if (answer.status === 429 || answer.status >= 500) return waitLonger(`the console answers ${answer.status}`);
        if (!answer.ok) return stop(`the console answers ${answer.status}`, "Load the page again");
        wait = interval;
        tell("");
        const fresh = new DOMParser().parseFromString(page, "text/html");
        for (const region of regions) {
          const part = fresh.getElementById(region.id);
          if (part && !isInUse(region)) replace(region, part);
        }
      }

      function plan() {
        clearTimeout(timer);
        if (isReading || isStopped || isPaused() || document.hidden) return;
        timer = setTimeout(refresh, Math.max(0, due - performance.now()));
      }

      async function refresh() {
        isReading = true;
        try {
          await read();
        } finally {
          isReading = false;
        }
        due = performance.now() + wait * 1000;
        plan();
      }

      button.addEventListener("click", () => {
        if (isStopped || isPaused()) {
          sessionStorage.removeItem(paused);
          [isStopped, wait, due] = [false, interval, 0];
          tell("");
        } else {
          sessionStorage.setItem(paused, "");
          tell("Updates are paused.");
        }
        plan();
      });
      document.addEventListener("visibilitychange", plan);
      tell(isPaused() ? "Updates are paused." : "");
      plan();
    }
    """
}
