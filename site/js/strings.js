// Most of the text that scripts show, in one place for translators. The first texts are in the HTML
// files and in main.js.

const LOCALE = "en";

/** Formats a number. */
export function count(number, options) {
  return number.toLocaleString(LOCALE, options);
}

/** Formats an RFC 3339 time as a date; "" if it is invalid. */
export function date(time) {
  const parsed = new Date(time);
  if (Number.isNaN(parsed.getTime())) return "";
  return parsed.toLocaleDateString(LOCALE, { dateStyle: "long", timeZone: "UTC" });
}

const regions = new Intl.DisplayNames(LOCALE, { type: "region", fallback: "none" });

/** Returns the name of the country or region with a country-code domain, or "". */
export function regionName(domain) {
  try {
    return regions.of(domain.toUpperCase()) ?? "";
  } catch {
    return "";
  }
}

/** Text that is used in several places. */
export const COMMON = {
  retry: "Try again",
  refresh: "Refresh",
  copied: "Copied",
  notHere: (name) => `${name} isn't here: this crawl has no home page of it.`,
};

const OFFLINE = "You are offline.";
const UNREACHABLE = "The network isn't responding.";
const NO_SCAN = "Nothing has been published here yet: manifest.json is missing.";
const offline = (isOnline) => (isOnline ? UNREACHABLE : OFFLINE);

/** The wall. */
export const WALL = {
  offline,
  noTabLoaded: (why) => `${why} No tab could be loaded.`,
  moved: "These tabs have moved. A newer version may be available.",
  someMoved: "Some of these tabs have moved. Reload the page to see the newest version.",
  noTabs: "There are no tabs here yet.",
  unreadable: (bundles) =>
    `${bundles === 1 ? "One block" : `${count(bundles)} blocks`} of tabs couldn't be read.`,
  end: (tabs) => `That was every tab: ${count(tabs)}.`,
  noManifest: `${UNREACHABLE} There are no tabs to show.`,
  noScan: NO_SCAN,
  damaged: "The list of tabs is damaged (manifest.json).",
  tab: (number) => `Tab ${count(number)}`,
  noSuchTab: (tab) => `${tab} does not exist. This is the top of the wall.`,
  tabNotLoaded: (tab) => `${tab} could not be loaded. This is the top of the wall.`,
  tabTooFar: (tab) => `${tab} is too far down for a link. Scroll down from here to reach it.`,
};

/** The search box. */
export const SEARCH = {
  unavailable: "Search isn't available right now.",
  notFound: "No website found. Check the spelling. A site has no tab if the crawl has no home " +
    "page of it, or if its owner had the tab removed. Is this your website? Let CCBot in with " +
    "robots.txt, and a later crawl can find it.",
  near: "Did you mean one of these?",
  websites: (number) => (number === 1 ? "One website" : `${count(number)} websites`),
  indexMissing: (name) => `Couldn't search for ${name}: the search index didn't load.`,
  newTab: "New tab: find a website",
};

/** An open site. */
export const VIEWER = {
  opening: (name) => `Opening ${name}…`,
  late: "Nothing has loaded yet. Try opening the site in a new tab.",
  opened: (name) => `Opened from the tab of ${name}. A site can lead to another one, and the ` +
    "browser doesn't tell us which.",
  left: (name) => `You followed a link from ${name}`,
  hidden: "The browser hides its address",
  notCopied: "Not copied",
};

/** Sharing a site, a group, the wall, or a place on the map. */
export const SHARE = {
  share: "Share",
  visit: "Share this wall and your visit",
  bar: "Share",
  close: "Close",
  closeKey: "Close (Esc)",
  copied: "Link copied",
  notCopied: (url) => `The link couldn't be copied. You can copy it here: ${url}`,
  unavailable: `${UNREACHABLE} This can't be shown right now.`,
  save: "Save picture",
  saved: (name) => `Saved as ${name}`,
  notSaved: "The picture couldn't be drawn.",
  footer: (address) => `EveryTab · ${address}`,
  group: (domain, tabs) => `Group .${domain}: ${count(tabs)} tabs`,
  mapTitle: "EveryTab: the map",
  mapText: "A place on the map of every website's icon",
};

const tabOf = ({ isExact }) => (isExact ? "is tab" : "is around tab");

/** The card of one site. */
export const SITE_CARD = {
  open: "Show its card",
  /** The text before the number, the number, and the text after it. */
  parts: (number, hosts) => [tabOf(number), count(number.number), `of ${count(hosts)}`],
  sentence: (name, number, hosts) =>
    `${name} ${tabOf(number)} ${count(number.number)} of ${count(hosts)}`,
  icon: (name) => `Icon of ${name}`,
  crawl: (crawl) => `From Common Crawl's ${crawl}`,
  published: (crawl, day) => `From Common Crawl's ${crawl}, published on ${day}`,
  wall: "Show it on the wall",
  neighbours: "Its neighbours",
};

/** An array holds the text before a number, the number, and the text after it. */
export const VISIT = {
  page: "EveryTab",
  closed: (tabs) => ["You closed", count(tabs), tabs === 1 ? "tab" : "tabs"],
  seen: (tabs) => ["You saw", count(tabs), tabs === 1 ? "tab" : "tabs"],
  toGo: (tabs) => `${count(tabs)} to go.`,
  none: "None to go.",
  all: (tabs) => ["This wall has", count(tabs), tabs === 1 ? "tab" : "tabs"],
  found: (sites) => `${count(sites)} ${sites === 1 ? "website" : "websites"} found`,
  opened: (sites) => `${count(sites)} ${sites === 1 ? "website" : "websites"} opened`,
  shared: (times) => (times === 1 ? "Shared once" : `Shared ${count(times)} times`),
};

/** Screen readers read these after a tab's title and host, and when a group changes. */
export const TAB = {
  outside: ", opens in a new tab",
  group: (domain, hidden) =>
    `, group .${domain}${hidden > 0 ? `, collapsed, ${count(hidden)} more` : ""}`,
  toggled: (domain, isExpanded) => `Group .${domain} ${isExpanded ? "expanded" : "collapsed"}`,
};

/** The page about the bot. */
export const BOT = { notCopied: "Not copied: mark the lines instead" };

/** Closed tabs. */
export const CLOSING = {
  label: "Closed tabs",
  undo: "Undo",
  undoKeys: "Bring back the last tab (Ctrl+Z, or Shift+T)",
  closeAll: "Close all…",
  closed: (tabs, toGo) => (tabs === 0 ? "All tabs are open again."
    : `You have closed ${count(tabs)}.${toGo > 0 ? ` ${count(toGo)} to go.` : ""}`),
  allKept: `${UNREACHABLE} All tabs stay open.`,
  question: (tabs) => `Do you want to close ${count(tabs)} tabs?`,
  cancel: "Cancel",
  closeAllTabs: "Close all tabs",
  canReopen: "You can open them again.",
  noTabsLabel: "All tabs are closed",
  allClosed: (tabs) => `All ${count(tabs)} tabs are closed.`,
  reopen: "Open them again",
  quiet: "It is quiet here now.",
};

/** The list of keys. */
export const KEYS = {
  title: "Keys",
  unavailable: `${UNREACHABLE} The list of keys can't be shown.`,
  close: "Close",
  /** Names of keys in one entry are alternatives. */
  list: [
    [["←", "→", "↑", "↓"], "Go from tab to tab"],
    [["Home", "End"], "Go to the first or last visible tab of the row"],
    [["Enter"], "Open the site"],
    [["Esc"], "Close the site"],
    [["Delete", "Backspace", "W"], "Close the tab"],
    [["Ctrl+Z", "Shift+T"], "Bring back the last closed tab"],
    [["G"], "Collapse or expand the tab’s group"],
    [["Space", "Page Up", "Page Down"], "Scroll"],
    [["?"], "Show this list"],
  ],
};

/** The button for the motion. */
export const MOTION = {
  start: "Start the motion",
  startReduced: "Start motion (your device is set to reduce motion)",
  stop: "Stop the motion",
};

/** How many tabs were seen, and how far down the wall the view is. */
export const SEEN = {
  hide: "Hide the count",
  hideTabs: "Hide the count of tabs seen",
  seen: (tabs) => `${count(tabs)} ${tabs === 1 ? "tab" : "tabs"} seen`,
  share: (seen, percent) => `${seen}: ${percent}% of this page`,
  pace: (number, unit) =>
    `At this pace the rest takes ${number} ${unit}${number === "1" ? "" : "s"}.`,
  metres: (number) => `${number} metres`,
  kilometres: (number) => `${number} kilometres`,
  first: (wall) => `Half a metre down.${wall ? ` The whole wall is ${wall} tall.` : ""}`,
  down: (metres, thing) => `${metres} metres down, as far as ${thing} is high.`,
  depth: (metres, thing) =>
    `${metres} metres down${thing ? `, more than the height of ${thing}` : ""}`,
  halfway: "More than halfway.",
  /** Their heights are in seen-tabs.js. The first height, half a metre, has no name. */
  things: [
    "", "a door", "a giraffe", "the Great Sphinx of Giza",
    "the Statue of Liberty without her pedestal", "the Leaning Tower of Pisa", "Big Ben",
    "the Great Pyramid of Giza", "Cologne Cathedral", "the Eiffel Tower",
    "the Empire State Building", "the Burj Khalifa", "Mount Everest",
  ],
  notHalfway: "Not halfway yet.",
};

/** The map. */
export const MAP = {
  opening: "Opening the map…",
  loading: "Loading the map…",
  noMap: (isOnline) => `${offline(isOnline)} There is no map to show.`,
  noScan: NO_SCAN,
  damaged: "The map is damaged (manifest.json).",
  noTabs: "There are no tabs yet, so there is no map.",
  without: "This version has no map. The tabs are on the wall.",
  partMissing: (isOnline) => `${offline(isOnline)} Part of the map didn't load.`,
  moved: "Part of the map has moved. A newer version may be available.",
  unreadable: "Part of the map couldn't be read.",
  unknownCount: "The number of tabs in view is unknown.",
  all: (tabs) => `All ${count(tabs)} tabs in view.`,
  some: (tabs, all) => `${count(tabs)} of ${count(all)} tabs in view.`,
  block: (number, all, state) =>
    `Block ${count(number)} of ${count(all)}, at the centre: ${state}.`,
  tabs: (number) => `${count(number)} tabs`,
  notLoaded: "not loaded",
  isLoading: "loading",
  finding: (name) => `Looking for ${name}…`,
  landmarks: "The most-linked websites in view. Zoom in to see more.",
  zoomIn: "Zoom in until you can tell the icons apart, then choose one.",
  tabNotLoaded: "The tab could not be loaded.",
  typeName: "Type a website's name, such as example.com.",
};

/** The map's orders. */
export const ORDERS = {
  names: { colour: "colour", domain: "domain", rank: "rank" },
  map: (order) => `Map of all tabs, by ${order}`,
  notLoaded: "This order couldn't be loaded.",
  emptied: "No tab here any more.",
  tabs: (number) => `${count(number)} ${number === 1 ? "tab" : "tabs"}`,
  centre: (area, tabs) => `At the centre: ${area}, ${ORDERS.tabs(tabs)}.`,
  none: { colour: "No icon", domain: "No domain", rank: "No rank" },
  colours: {
    red: "Red", orange: "Orange", yellow: "Yellow", lime: "Lime", green: "Green", mint: "Mint",
    cyan: "Cyan", azure: "Azure", blue: "Blue", violet: "Violet", magenta: "Magenta", pink: "Pink",
    black: "Black", dark: "Dark grey", grey: "Light grey", white: "White",
  },
  domain: (name, region) => `.${name}${region ? ` (${region})` : ""}`,
  ranks: {
    1: "Ranks 1 to 100", 101: "Ranks 101 to 1,000", 1001: "Ranks 1,001 to 10,000",
    10001: "Ranks 10,001 to 100,000", 100001: "Ranks 100,001 to 1,000,000",
  },
};

/** The statistics. */
export const STATS = {
  none: "There are no numbers here yet.",
  crawl: (name) => `Crawl ${name}`,
  published: (date) => `published on ${date}`,
  websites: "websites in the crawl",
  tabs: "tabs on this site",
  tabsWithIcon: "tabs with an icon",
  useHttps: "of websites use HTTPS",
  mayBeFramed: "of home pages may be framed",
  requests: "icon requests",
  succeeded: "of icon requests succeeded",
  differentIcons: "different icons",
  downloaded: "downloaded",
  bundles: "files of tabs (bundles)",
  outcomes: "How icon requests ended",
  outcome: {
    completed: "icon received", failed_dns: "host not found", failed_timeout: "timed out",
    failed_http_error: "HTTP error", failed_invalid_image: "not an image",
    failed_too_large: "too large", failed_other: "other failure",
  },
  formats: "Icon formats",
  sources: "Where icons were found",
  source: { favicon_ico: "/favicon.ico", link_rel: "linked by the page" },
  encryption: "Encryption",
  https: "HTTPS",
  httpOnly: "HTTP only",
  domains: "Top-level domains",
  times: "Time by stage",
  stage: {
    index: "Read the crawl’s index", warc: "Read home pages", icon: "Download icons",
    "bundle-shard": "Write tabs", search: "Write search files", map: "Draw the map",
    publish: "Publish",
  },
  history: "Tabs in each scan",
};
