// The pages work without this file. It adds local times, times that stay
// relative, a copy button beside each command, live updates and keys.
"use strict";
(() => {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const utc = (t) => t.toISOString().slice(0, 19).replace("T", " ") + " UTC";
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

  function relative(t, now) {
    const gap = Math.round((t - now) / 1000), n = Math.abs(gap);
    if (n < 1) return "now";
    const [unit, size] = units.find(([, size]) => n >= size);
    const text = Math.floor(n / size) + " " + unit;
    return gap > 0 ? "in " + text : text + " ago";
  }

  function times(root) {
    const now = Date.now();
    for (const el of root.querySelectorAll("time[datetime]")) {
      const t = new Date(el.dateTime);
      if (isNaN(t)) continue;
      if (!el.dataset.local) {
        el.dataset.local = local.format(t);
        el.title = utc(t) + "\n" + el.dataset.local;
      }
      if (el.dataset.relative !== undefined) {
        const text = relative(t, now);
        if (el.textContent !== text) el.textContent = text;
      }
    }
  }

  function copies(root) {
    for (const code of root.querySelectorAll(".cli code")) {
      if (code.nextElementSibling) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy the command " + code.textContent);
      code.after(button);
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".cli button");
    if (!button) return;
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    } catch {
      getSelection().selectAllChildren(code); // the clipboard needs a secure page
    }
  });

  // Live updates replace the page's main part, unless somebody is at work in it.
  const live = document.getElementById("live");
  let etag = "", failures = 0;
  const busy = () => document.hidden || document.querySelector("main[data-still]") || document.querySelector("main details[open], dialog[open]") ||
    document.activeElement.closest("main form") || !getSelection().isCollapsed;

  async function refresh() {
    if (live.getAttribute("aria-pressed") !== "true" || busy()) return;
    try {
      const answer = await fetch(location.href, { headers: { "If-None-Match": etag }, cache: "no-store" });
      if (answer.status === 304) { failures = 0; return; }
      if (!answer.ok) throw new Error(answer.statusText);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (busy()) return;
      etag = answer.headers.get("ETag") || "";
      const path = focusPath();
      document.title = next.title;
      document.querySelector("link[rel=icon]").href = next.querySelector("link[rel=icon]").getAttribute("href");
      document.querySelector(".brand").replaceWith(next.querySelector(".brand"));
      document.querySelector("main").replaceWith(next.querySelector("main"));
      ready(document);
      if (path) document.querySelector(path)?.focus({ preventScroll: true });
      failures = 0;
    } catch {
      failures++;
    }
    live.firstChild.textContent = failures > 1 ? "Not connected" : "Live";
  }

  // A link keeps the focus over an update.
  function focusPath() {
    const link = document.activeElement.closest("main a[href]");
    return link && "main a[href=" + JSON.stringify(link.getAttribute("href")) + "]";
  }

  function ready(root) { times(root); copies(root); }

  ready(document);
  live.hidden = false;
  live.addEventListener("click", () => {
    live.setAttribute("aria-pressed", live.getAttribute("aria-pressed") !== "true");
  });
  setInterval(() => times(document), 1000);
  setInterval(refresh, 3000);

  // Keys: g and a letter goes to a page, / to the first filter, ? shows them.
  const pages = { o: "/", j: "/jobs", r: "/runs", t: "/targets", k: "/keys", p: "/processes", a: "/audit" };
  let leader = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    if (event.key === "?") return document.getElementById("keys").showModal();
    if (event.key === "/") {
      const field = document.querySelector("main form input:not([type=hidden])");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
      return;
    }
    if (event.key === "g") { leader = Date.now(); return; }
    if (Date.now() - leader < 1500 && pages[event.key]) location.assign(pages[event.key]);
    leader = 0;
  });
})();
