//! A page's icon links, as varied as on real pages.

use std::fmt::Write;

use crate::{dice::Dice, internet::SHARED_HOSTS};

const DATA_PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2\
    AAAAFklEQVR42mNQaGggCTGMahjVMHw1AAC82CAQ7lb+zgAAAABJRU5ErkJggg==";
const DATA_SVG: &str = "data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22 \
    viewBox=%220 0 100 100%22><circle cx=%2250%22 cy=%2250%22 r=%2240%22 fill=%22teal%22/></svg>";

const FOLDERS: [&str; 6] =
    ["/", "/img/", "/assets/icons/", "/wp-content/uploads/2025/03/", "/static/", "/images/"];

pub(super) fn markup(host: &str, dice: &mut Dice) -> String {
    let counts = [(0_u64, 25), (1, 35), (2, 12), (3, 12), (4, 10), (5, 4), (6, 2)];
    let count = dice.weighted(&counts);
    let mut html = String::new();
    // A base element changes relative links, but not the URL of /favicon.ico.
    let has_base = count > 0 && dice.permille(15);
    if has_base {
        let _ = writeln!(html, "<base href=\"https://{host}/sub/\">");
    }
    for at in 0..count {
        let link = if at == 0 { first(host, dice) } else { further(dice) };
        html.push_str(&link);
        html.push('\n');
    }
    if dice.permille(20) {
        html.push_str("<link rel=\"mask-icon\" href=\"/mask.svg\" color=\"#334455\">\n");
    }
    if dice.permille(15) {
        html.push_str(
            "<!--[if IE]><link rel=\"shortcut icon\" href=\"/ie-only.ico\"><![endif]-->\n",
        );
    }
    html
}

fn first(host: &str, dice: &mut Dice) -> String {
    let folder = dice.pick(&FOLDERS);
    let form = dice.below(100);
    match form {
        0..30 => "<link rel=\"shortcut icon\" href=\"/favicon.ico\">".to_owned(),
        30..45 => {
            format!("<link rel=\"icon\" type=\"image/x-icon\" href=\"{folder}favicon.ico\" />")
        }
        45..60 => {
            let size = dice.pick(&[16, 32, 48, 96, 192]);
            format!(
                "<link rel=\"icon\" type=\"image/png\" sizes=\"{size}x{size}\" \
                 href=\"{folder}favicon-{size}x{size}.png\">"
            )
        }
        60..70 => {
            format!("<link rel=\"icon\" href=\"{folder}cropped-logo-32x32.png\" sizes=\"32x32\" />")
        }
        70..76 => format!("<link href=\"https://{host}{folder}icon.gif\" rel='SHORTCUT ICON'>"),
        // Minified pages omit the quotes.
        76..82 => format!("<link rel=icon href={folder}fav.png>"),
        82..87 => format!("<link rel=\"icon\" type=\"image/svg+xml\" href=\"{folder}logo.svg\">"),
        87..91 => {
            let shared = dice.pick(&SHARED_HOSTS);
            let theme = dice.below(40);
            format!("<link rel=\"icon\" href=\"https://{shared}/themes/{theme}/favicon.ico\">")
        }
        91..93 => format!("<link rel=\"shortcut icon\" href=\"//{host}{folder}favicon.bmp\">"),
        93..95 => format!("<link rel=\"icon\" type=\"image/webp\" href=\"{folder}favicon.webp\">"),
        95..97 => format!("<link rel=\"icon\" href=\"{DATA_PNG}\">"),
        97 => format!("<link rel=\"icon\" href='{DATA_SVG}'>"),
        // This declares that the page has no icon.
        98 => "<link rel=\"icon\" href=\"data:,\">".to_owned(),
        _ => "<link rel=\"icon\" href=\"\">".to_owned(),
    }
}

fn further(dice: &mut Dice) -> String {
    let folder = dice.pick(&FOLDERS);
    let size = dice.pick(&[16, 24, 32, 64, 96, 128, 192, 256]);
    match dice.below(100) {
        0..30 => {
            let touch = dice.pick(&[57, 72, 76, 114, 120, 144, 152, 180]);
            format!(
                "<link rel=\"apple-touch-icon\" sizes=\"{touch}x{touch}\" \
                 href=\"{folder}apple-touch-icon-{touch}x{touch}.png\">"
            )
        }
        30..40 => "<link rel=\"apple-touch-icon\" href=\"apple-touch-icon.png\">".to_owned(),
        40..45 => {
            format!("<link rel=\"apple-touch-icon-precomposed\" href=\"{folder}touch-144.png\">")
        }
        45..80 => format!(
            "<link rel=\"icon\" type=\"image/png\" href=\"{folder}icon-{size}.png?v={size}\" \
             sizes=\"{size}x{size}\">"
        ),
        80..88 => {
            format!(
                "<link rel=\"icon\" sizes=\"any\" type=\"image/svg+xml\" href=\"{folder}i.svg\">"
            )
        }
        88..93 => format!("<link rel=\"alternate icon\" href=\"{folder}alt.jpg\">"),
        93..96 => format!(
            "<link rel=\"icon\" media=\"(prefers-color-scheme: dark)\" href=\"{folder}dark.png\">"
        ),
        96..98 => {
            "<link rel=\"icon\" href=\"../img/ icon 1.png \" sizes=\"16x16 32X32\">".to_owned()
        }
        _ => "<link rel=\"icon\" href=\"http://[broken/favicon.ico\">".to_owned(),
    }
}
