// A plain rendering for comparison: every row holds its tabs twice, and a CSS animation moves it by
// half its width forever.
const wall = document.querySelector("#wall");
const manifest = await (await fetch("manifest.json")).json();
let next = 0;
let loading = false;

function tabNode(entry) {
  const link = document.createElement("a");
  link.className = "tab";
  link.href = entry.url;
  const icon = document.createElement("img");
  icon.className = "icon";
  icon.alt = "";
  if (entry.icon) icon.src = `data:image/png;base64,${entry.icon}`;
  const title = document.createElement("span");
  title.className = "title";
  title.textContent = entry.title;
  link.append(icon, title);
  return link;
}

async function load() {
  if (loading || next >= manifest.bundles) return;
  loading = true;
  const answer = await fetch(`${manifest.prefix}tabs/${next}.json`);
  next += 1;
  const { entries } = await answer.json();
  const aRow = Math.max(4, Math.ceil(innerWidth / 172) + 2);
  for (let from = 0; from < entries.length; from += aRow) {
    const row = document.createElement("div");
    row.className = "plain";
    row.style.animationDuration = `${90 + ((next * 7 + from) % 61)}s`;
    row.style.animationDirection = from % 2 ? "reverse" : "normal";
    for (const copy of [0, 1]) {
      for (const entry of entries.slice(from, from + aRow)) row.append(tabNode(entry, copy));
    }
    wall.append(row);
  }
  loading = false;
  look();
}

function look() {
  if (scrollY + 4 * innerHeight > document.documentElement.scrollHeight) void load();
}

addEventListener("scroll", look, { passive: true });
look();
