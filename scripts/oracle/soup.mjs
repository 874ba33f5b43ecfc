// Generates pages from pieces of real ones in an arbitrary order, so that the browser's result
// depends on every rule in its parser. The same seed gives the same pages.

const PIECES = [
  "<title>t", "</title>", "<link rel=icon href=/a>", "<link rel='x icon' href=b />",
  "<base href=/c/>", "<svg>", "</svg>", "<svg/>", "<svg><title>s", "<g>", "</g>",
  "<path d='M0 0'/>", "<desc>", "</desc>", "<foreignObject>", "</foreignObject>", "<math>",
  "</math>", "<mi>", "</mi>", "<mtext>", "<annotation-xml>",
  "<annotation-xml encoding='text/html'>", "</annotation-xml>", "<![CDATA[", "]]>",
  "<template>", "</template>", "<div>", "</div>", "<div class='a b' id=c>", "<p>", "</p>",
  "<a href=d>", "</a>", "<span>", "</span>", "<ul><li>", "</ul>", "<table>", "<tr><td>",
  "</table>", "<b>", "</b>", "<font>", "<font color=e>", "<br>", "</br>", "<img src=f>",
  "<button>", "</button>", "<h1>", "</h1>", "<select>", "<option>", "</select>", "<head>",
  "</head>", "<body>", "</body>", "<html>", "</html>", "<style>", "</style>", "<script>",
  "</script>", "<!--", "-->", "<noscript>", "</noscript>", "<textarea>", "</textarea>",
  "<iframe>", "</iframe>", "text", " ", "\n", "<x-y>", "</x-y>", "&amp;",
];
const MAX_PIECES = 24;

/** Returns `count` pages for a seed. */
export function soup(count, seed) {
  let state = seed >>> 0;
  // A linear congruential generator (Numerical Recipes). Its high bits are good enough.
  const below = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 2 + below(MAX_PIECES) }, () => PIECES[below(PIECES.length)]).join(""));
}
