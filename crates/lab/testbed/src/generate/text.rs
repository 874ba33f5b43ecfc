//! Words in many scripts, and the charsets that sites in these scripts use.

use encoding_rs::Encoding;

use crate::dice::Dice;

pub(super) struct Script {
    pub(super) language: &'static str,
    pub(super) words: &'static [&'static str],
    pub(super) legacy: &'static [&'static str],
    pub(super) space: &'static str,
}

const ENGLISH: Script = Script {
    language: "eng",
    words: &[
        "the", "home", "garden", "bright", "river", "market", "news", "world", "daily", "craft",
        "studio", "travel", "stone", "music", "school", "kitchen", "north", "open", "light",
        "books", "health", "city", "simple", "guide", "O’Neil", "café", "naïve", "—", "&",
    ],
    legacy: &["windows-1252", "iso-8859-1", "us-ascii"],
    space: " ",
};
const GERMAN: Script = Script {
    language: "deu",
    words: &[
        "Haus",
        "Garten",
        "schöne",
        "Bücher",
        "Straße",
        "über",
        "Möbel",
        "günstig",
        "Nachrichten",
        "Fußball",
        "Küche",
        "Ärzte",
        "Reisen",
        "für",
        "größer",
        "Öffnungszeiten",
        "und",
        "Verein",
    ],
    legacy: &["iso-8859-1", "windows-1252", "iso-8859-15"],
    space: " ",
};
const LATIN_WEST: Script = Script {
    language: "fra",
    words: &[
        "maison",
        "été",
        "garçon",
        "où",
        "français",
        "señor",
        "mañana",
        "ação",
        "coração",
        "niño",
        "città",
        "perché",
        "œuvre",
        "actualités",
        "über",
        "crème",
        "hôtel",
        "información",
    ],
    legacy: &["iso-8859-1", "windows-1252", "iso-8859-15"],
    space: " ",
};
const LATIN_EAST: Script = Script {
    language: "pol",
    words: &[
        "źródło",
        "łódź",
        "święta",
        "książka",
        "zażółć",
        "gęślą",
        "jaźń",
        "příliš",
        "žluťoučký",
        "kůň",
        "úpěl",
        "ďábelské",
        "ódy",
        "nowości",
        "sklep",
        "ogród",
    ],
    legacy: &["iso-8859-2", "windows-1250"],
    space: " ",
};
const CYRILLIC: Script = Script {
    language: "rus",
    words: &[
        "дом",
        "новости",
        "сад",
        "город",
        "музыка",
        "книги",
        "здоровье",
        "школа",
        "купить",
        "магазин",
        "погода",
        "ёлка",
        "спорт",
        "главная",
        "страница",
        "форум",
        "россия",
    ],
    legacy: &["windows-1251", "koi8-r", "iso-8859-5"],
    space: " ",
};
const GREEK: Script = Script {
    language: "ell",
    words: &["σπίτι", "κήπος", "νέα", "μουσική", "βιβλία", "Αθήνα", "καιρός", "ταξίδια"],
    legacy: &["iso-8859-7", "windows-1253"],
    space: " ",
};
const JAPANESE: Script = Script {
    language: "jpn",
    words: &[
        "ホーム",
        "ニュース",
        "東京",
        "料理",
        "音楽",
        "旅行",
        "学校",
        "会社",
        "表",
        "ソフト",
        "能力",
        "お知らせ",
        "公式サイト",
        "通販",
        "へようこそ",
        "写真",
        "株式会社",
    ],
    legacy: &["shift_jis", "euc-jp", "iso-2022-jp"],
    space: "",
};
const KOREAN: Script = Script {
    language: "kor",
    words: &["서울", "뉴스", "음악", "학교", "여행", "쇼핑몰", "공식", "홈페이지", "날씨", "요리"],
    legacy: &["euc-kr", "ks_c_5601-1987"],
    space: " ",
};
const CHINESE: Script = Script {
    language: "zho",
    words: &[
        "首页", "新闻", "北京", "音乐", "旅游", "学校", "公司", "网站", "欢迎", "产品", "中国",
    ],
    legacy: &["gbk", "gb2312", "gb18030"],
    space: "",
};
const TRADITIONAL: Script = Script {
    language: "zho",
    words: &["首頁", "新聞", "臺北", "音樂", "旅遊", "學校", "公司", "網站", "歡迎", "產品"],
    legacy: &["big5"],
    space: "",
};
const MANY: Script = Script {
    language: "ara",
    words: &[
        "مرحبا",
        "أخبار",
        "مدينة",
        "שלום",
        "חדשות",
        "สวัสดี",
        "ข่าว",
        "नमस्ते",
        "समाचार",
        "🏠",
        "👩‍👩‍👧",
    ],
    legacy: &["windows-1256"],
    space: " ",
};

pub(super) fn of_suffix(suffix: &str, dice: &mut Dice) -> &'static Script {
    match suffix {
        "de.example" => &GERMAN,
        "com.br.example" | "es.example" | "fr.example" | "it.example" => &LATIN_WEST,
        "pl.example" | "cz.example" => &LATIN_EAST,
        "ru.example" | "com.ua.example" => &CYRILLIC,
        "gr.example" => &GREEK,
        "co.jp.example" => &JAPANESE,
        "co.kr.example" => &KOREAN,
        "cn.example" => &CHINESE,
        "com.tw.example" => &TRADITIONAL,
        _ if dice.permille(60) => &MANY,
        _ if dice.permille(60) => &LATIN_WEST,
        _ => &ENGLISH,
    }
}

impl Script {
    pub(super) fn words(&self, count: u64, dice: &mut Dice) -> String {
        let mut text = String::new();
        for at in 0..count {
            if at > 0 {
                text.push_str(self.space);
            }
            text.push_str(dice.pick(self.words));
        }
        text
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Declared {
    Header,
    Meta,
    HttpEquiv,
    Both,
    ByteOrderMark,
    Nowhere,
}

pub(super) struct PageCharset {
    pub(super) label: &'static str,
    pub(super) encoding: &'static Encoding,
    pub(super) declared: Declared,
}

pub(super) fn charset(script: &Script, dice: &mut Dice) -> PageCharset {
    let label = if dice.permille(120) { dice.pick(script.legacy) } else { "utf-8" };
    let encoding = Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::UTF_8);
    let ways = [
        (Declared::Header, 25),
        (Declared::Meta, 25),
        (Declared::HttpEquiv, 15),
        (Declared::Both, 30),
        (Declared::Nowhere, 3),
        (Declared::ByteOrderMark, 2),
    ];
    let declared = match dice.weighted(&ways) {
        Declared::ByteOrderMark if encoding != encoding_rs::UTF_8 => Declared::Both,
        declared => declared,
    };
    PageCharset { label, encoding, declared }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_charset_is_known_and_one_encodes_most_words() {
        for script in [
            &GERMAN,
            &LATIN_WEST,
            &LATIN_EAST,
            &CYRILLIC,
            &GREEK,
            &JAPANESE,
            &KOREAN,
            &CHINESE,
            &TRADITIONAL,
        ] {
            for label in script.legacy {
                assert!(Encoding::for_label(label.as_bytes()).is_some(), "{label}");
            }
            let holding = script.legacy.iter().any(|label| {
                let encoding = Encoding::for_label(label.as_bytes()).unwrap();
                script.words.iter().filter(|word| !encoding.encode(word).2).count() * 10
                    >= script.words.len() * 7
            });
            assert!(holding, "{}", script.language);
        }
    }
}
