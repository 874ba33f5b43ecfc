//! Tests the prescan. Each case is `(first bytes, encoding or "")`.

use super::*;

const CASES: &[(&[u8], &str)] = &[
    (b"<meta charset=\"ISO-8859-2\">", "ISO-8859-2"),
    (b"<meta charset='iso8859-2'>", "ISO-8859-2"),
    (b"<meta charset=iso8859-2>", "ISO-8859-2"),
    (b"<META CHARSET=ISO8859-2>", "ISO-8859-2"),
    (b"<meta\ncharset\n=\n\"gbk\"\n>", "GBK"),
    (b"<meta/charset=gbk>", "GBK"),
    (b"<meta/ /charset=gbk/>", ""),
    (b"<meta charset=gbk />", "GBK"),
    (b"<meta\x0ccharset=gbk>", "GBK"),
    (b"<meta charset=\"  gbk  \">", "GBK"),
    (b"<meta name=x charset=gbk>", "GBK"),
    (b"<metacharset=gbk>", ""),
    (b"<metaa charset=gbk>", ""),
    (b"<meta>charset=gbk", ""),
    (b"< meta charset=gbk>", ""),
    (b"</meta charset=gbk>", ""),
    (b"meta charset=gbk>", ""),
    // A label that names no encoding. The next meta still counts.
    (b"<meta charset=utf8mb4>", ""),
    (b"<meta charset=bogus><meta charset=gbk>", "GBK"),
    (b"<meta charset=gbk><meta charset=utf-8>", "GBK"),
    (b"<meta charset><meta charset=gbk>", "GBK"),
    (b"<meta charset=><meta charset=gbk>", "GBK"),
    (b"<meta http-equiv=content-type content='text/html; charset=gbk'>", "GBK"),
    (b"<meta content='text/html; charset=gbk' http-equiv=Content-Type>", "GBK"),
    (b"<meta content='text/html; charset=gbk'>", ""),
    (b"<meta http-equiv=refresh content='0; charset=gbk'>", ""),
    (b"<meta http-equiv=content-type content='charset=gbk'>", "GBK"),
    (b"<meta http-equiv=content-type content='charsetcharset=gbk'>", "GBK"),
    (b"<meta http-equiv=content-type content='charset charset = gbk'>", "GBK"),
    (b"<meta http-equiv=content-type content='charset=\"gbk\"'>", "GBK"),
    (b"<meta http-equiv=content-type content='charset=\"gbk'>", ""),
    (b"<meta http-equiv=content-type content='charset=gbk;q'>", "GBK"),
    (b"<meta http-equiv=content-type content='text/html'>", ""),
    (b"<meta http-equiv=content-type content='charset='>", ""),
    // The charset attribute overrides the pragma, in either order, even if its label is unknown.
    (b"<meta http-equiv=content-type content='charset=gbk' charset=utf-8>", "UTF-8"),
    (b"<meta charset=utf-8 http-equiv=content-type content='charset=gbk'>", "UTF-8"),
    (b"<meta charset=bogus http-equiv=content-type content='charset=gbk'>", ""),
    (b"<meta content='charset=gbk' charset=bogus http-equiv=content-type>", ""),
    (b"<meta charset=gbk charset=utf-8>", "GBK"),
    (b"<meta http-equiv=x http-equiv=content-type content='charset=gbk'>", ""),
    (b"<meta charset=utf-16>", "UTF-8"),
    (b"<meta charset=utf-16be>", "UTF-8"),
    (b"<meta charset=x-user-defined>", "windows-1252"),
    (b"<meta charset=iso-2022-kr>", "replacement"),
    (b"<!--<meta charset=gbk>-->", ""),
    (b"<!--<meta charset=gbk>--><meta charset=utf-8>", "UTF-8"),
    (b"<!--><meta charset=gbk>", "GBK"),
    (b"<!---><meta charset=gbk>", "GBK"),
    (b"<!-- > <meta charset=gbk>", ""),
    (b"<!-- --!> <meta charset=gbk> --><meta charset=utf-8>", "UTF-8"),
    (b"<! <meta charset=gbk>", ""),
    (b"<!doctype html><meta charset=gbk>", "GBK"),
    (b"<?php <meta charset=gbk> ?><meta charset=utf-8>", "UTF-8"),
    (b"</ <meta charset=gbk>", ""),
    // Inside another tag's attributes, where it does not count, and inside a script, where it does.
    (b"<a title='<meta charset=gbk>'><meta charset=utf-8>", "UTF-8"),
    (b"<a title=<meta charset=gbk><meta charset=utf-8>", "UTF-8"),
    (b"</a title='<meta charset=gbk>'><meta charset=utf-8>", "UTF-8"),
    (b"<script>'<meta charset=gbk>'</script>", "GBK"),
    (b"<a<meta charset=gbk>", ""),
    (b"<a =b><meta charset=gbk>", "GBK"),
    (b"<meta charset=gbk", ""),
    (b"<meta charset='gbk>", ""),
    (b"<meta", ""),
    (b"<", ""),
    (b"", ""),
    (b"<?xml version='1.0' encoding='gbk'?>", "GBK"),
    (b"<?xml encoding = \"gbk\"?><p>", "GBK"),
    (b"<?xml encoding='utf-16'?>", "UTF-8"),
    (b"<?xml encoding='gbk'?><meta charset=utf-8>", "UTF-8"),
    (b" <?xml encoding='gbk'?>", ""),
    (b"<?xml encoding=gbk?>", ""),
    (b"<?xml encoding='g bk'?>", ""),
    (b"<?xml ?><a encoding='gbk'>", ""),
    (b"<?xml encoding='gbk'", ""),
    (b"<\0?\0x\0m\0", "UTF-16LE"),
    (b"\0<\0?\0x\0m", "UTF-16BE"),
];

#[test]
fn every_case_gives_the_standards_encoding() {
    for (bytes, expected) in CASES {
        let found = prescan(bytes).map_or("", |encoding| encoding.name());
        assert_eq!(found, *expected, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn prefixes_of_all_cases_never_panic() {
    for (bytes, _) in CASES {
        for end in 0..bytes.len() {
            prescan(&bytes[..end]);
            encoding_in_content(&bytes[..end]);
        }
    }
}
