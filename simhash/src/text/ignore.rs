//! The option `ignore`: removes numbers, ids, addresses, accents and hyphenation from a text in normal form.

use std::ops::Range;

use super::classes::{MARK, WORD, kind};
use super::normalise::{line_break, normalise_separators, remove_accents};
use super::places::{Places, Rewriting, Step, rewrite};
use super::tokens::tokenize;
use crate::error::Result;
use crate::ticking::ticking;

/// Classes of tokens, and of other parts of a text, that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Tokens with a decimal digit.
    pub numbers: bool,
    /// UUIDs; tokens of at least eight hexadecimal or six decimal digits, also after `0x`; and what Kubernetes appends
    /// to the names of pods.
    pub ids: bool,
    /// Addresses of the web: a scheme, `://` and what follows it, or what begins with `www.`; up to the first character
    /// that RFC 3986 does not allow in an address. Domains with the path after them, mail addresses, and names after an
    /// at sign.
    pub urls: bool,
    /// Marks on letters of the Latin, Greek and Cyrillic alphabets.
    pub accents: bool,
    /// A hyphen and a line break between two letters.
    pub hyphenation: bool,
}

impl Ignored {
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Removes the ignored parts from a text in normal form, and adds the steps to `places`. Needs memory for another
    /// copy of the text.
    pub fn remove(self, normal: &mut String, mut places: Option<&mut Places>, tick: &dyn Fn()) -> Result<()> {
        let steps: [(bool, Step); 6] = [
            (!self.is_nothing(), normalise_separators),
            (self.hyphenation, join_lines),
            (self.accents, remove_accents),
            (self.urls, remove_urls),
            (self.ids, remove_ids),
            (self.numbers, remove_numbers),
        ];
        for (_, step) in steps.into_iter().filter(|(is_wanted, _)| *is_wanted) {
            rewrite(normal, step, places.as_deref_mut(), tick)?;
        }
        Ok(())
    }
}

fn remove_numbers(normal: &str, out: &mut Rewriting<'_>, tick: &dyn Fn()) -> Result<()> {
    let mut remove = |token: Range<usize>| {
        let has_digit = normal.as_bytes()[token.clone()].iter().any(u8::is_ascii_digit);
        if has_digit { out.replace(token, " ") } else { Ok(()) }
    };
    tokenize(normal, &mut remove, tick)
}

fn remove_ids(normal: &str, out: &mut Rewriting<'_>, tick: &dyn Fn()) -> Result<()> {
    /// Digits of the parts of a UUID.
    const UUID: [usize; 5] = [8, 4, 4, 4, 12];
    let bytes = normal.as_bytes();
    let mut removed_to = 0;
    // Whether the last token is an id, and how many parts of a UUID end with it.
    let (mut is_last_id, mut parts) = (false, 0);
    let mut remove = |range: Range<usize>| {
        let token = &bytes[range.clone()];
        let is_joined = normal[..range.start].strip_suffix('-').is_some_and(|before| before.ends_with(is_in_word));
        let is_part = |part: usize| UUID.get(part) == Some(&token.len()) && token.iter().all(u8::is_ascii_hexdigit);
        parts = if is_joined && parts > 0 && is_part(parts) { parts + 1 } else { usize::from(is_part(0)) };
        is_last_id = is_id(token) || is_joined && is_generated(token, is_last_id);
        if !is_last_id {
            return Ok(());
        }
        // The first part of a UUID has been removed as an id of its own.
        let start = if parts == UUID.len() { removed_to } else { range.start };
        removed_to = range.end;
        out.replace(start..range.end, " ")
    };
    tokenize(normal, &mut remove, tick)
}

/// Whether a token is long, and has nothing but hexadecimal or decimal digits.
fn is_id(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"0x").unwrap_or(token);
    digits.len() >= 8 && digits.iter().all(u8::is_ascii_hexdigit)
        || digits.len() >= 6 && digits.iter().all(u8::is_ascii_digit)
}

/// Whether Kubernetes may have appended this token to the name of a pod: a hash, or five characters, which may be
/// letters alone after a hash. It uses neither vowels nor digits that look like them.
fn is_generated(token: &[u8], is_after_id: bool) -> bool {
    let is_suffix = match token.len() {
        5 => is_after_id || token.iter().any(u8::is_ascii_digit),
        length => (8..=10).contains(&length),
    };
    is_suffix && token.iter().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(byte))
}

fn is_in_word(c: char) -> bool {
    matches!(kind(c.into()), WORD | MARK)
}

fn join_lines(normal: &str, out: &mut Rewriting<'_>, tick: &dyn Fn()) -> Result<()> {
    let is_letter = |c: char| kind(c.into()) == WORD && !c.is_ascii_digit();
    let mut removed_to = 0;
    for (at, _) in ticking(normal.match_indices('-'), tick) {
        let after = at + 1 + line_break(&normal[at + 1..]);
        if after > at + 1
            && normal[removed_to..at].ends_with(|c: char| is_letter(c) || kind(c.into()) == MARK)
            && normal[after..].starts_with(is_letter)
        {
            out.replace(at..after, "")?;
            removed_to = after;
        }
    }
    Ok(())
}

/// Top-level domains by which a domain is told from words without a space between them, and from the names of files.
pub const TLDS: &str = "com net org edu gov mil int info biz app dev cloud online site shop store blog xyz club \
    example ae ai ar bg br ca cc ch ci cl cn co cz de dk ee eg fi fm fr gg gh gr hk hr hu ie io ir jp kr kz lt lu lv \
    ly mx ng nl nz ph pk pl pt ro ru sg sk th tk tn tr tv tw ua ug uk uy vn ws";
/// Top-level domains that are words with which sentences begin, in English or another large language, so that "done.It"
/// is more often a missing space than a domain.
pub const WORD_TLDS: &str = "at au be es eu id il in is it ke ma me my no pe sa se si to top us ve za";

fn remove_urls(normal: &str, out: &mut Rewriting<'_>, tick: &dyn Fn()) -> Result<()> {
    let bytes = normal.as_bytes();
    let (mut removed_to, mut checked_to) = (0, 0);
    for at in ticking(0..bytes.len(), tick) {
        if at < removed_to {
            continue;
        }
        let address = match bytes[at] {
            b'@' => named_address(normal, removed_to, at),
            b'.' if at >= checked_to => {
                let (end, found) = domain(normal, removed_to, checked_to.max(removed_to), at);
                checked_to = end;
                found
            }
            _ => url_start(bytes, removed_to, at).map(|start| start..url_end(bytes, at)),
        };
        if let Some(address) = address {
            removed_to = address.end;
            out.replace(address, " ")?;
        }
    }
    Ok(())
}

/// The mail address around the at sign at byte `at`, or the name after it. It starts at or after byte `min_start`.
fn named_address(normal: &str, min_start: usize, at: usize) -> Option<Range<usize>> {
    let name = &normal[at + 1..];
    if !name.starts_with(|c: char| kind(c.into()) == WORD) {
        return None;
    }
    let rest = name.trim_start_matches(|c: char| is_in_word(c) || "._-@".contains(c));
    let before = normal[min_start..at].trim_end_matches(|c: char| is_in_word(c) || "._%+-'".contains(c));
    Some(min_start + before.len()..normal.len() - rest.len())
}

/// Reads the labels around the point at byte `at`. Returns where they end and, if they are a domain, where it stands,
/// with its path. A domain has at least two labels, of which the last is one of [`TLDS`] or stands before a path; or at
/// least three, of which the last is one of [`WORD_TLDS`]. The first label starts at or after byte `min_start`. The
/// address before it has been removed up to `removed_to`.
fn domain(normal: &str, removed_to: usize, min_start: usize, at: usize) -> (usize, Option<Range<usize>>) {
    let is_in_label = |c: char| is_in_word(c) || c == '-';
    let (mut rest, mut last, mut points) = (&normal[at..], "", 0);
    while let Some(labels) = rest.strip_prefix('.')
        && labels.starts_with(is_in_label)
    {
        rest = labels.trim_start_matches(is_in_label);
        last = &labels[..labels.len() - rest.len()];
        points += 1;
    }
    let end = normal.len() - rest.len();
    let before = normal[min_start..at].trim_end_matches(is_in_label);
    let start = min_start + before.len();
    let is_one_of = |tlds: &str| tlds.split(' ').any(|tld| last.eq_ignore_ascii_case(tld));
    let is_top_level = || {
        let is_before_path = rest.starts_with(['/', '?']) && last.bytes().all(|byte| byte.is_ascii_alphabetic());
        is_before_path || is_one_of(TLDS) || points > 1 && is_one_of(WORD_TLDS)
    };
    // Most points have no label on both sides: those that end sentences, and leaders.
    let is_labelled = start < at && last.len() > 1 && !normal[removed_to..start].ends_with(['.', '/', '\\', '_']);
    let is_domain = is_labelled && is_top_level();
    // Read only a path that is removed: a path that is kept would be read again from each point in it.
    let path_end = || if rest.starts_with(['/', '?', '#', ':']) { url_end(normal.as_bytes(), end) } else { end };
    (end.max(at + 1), is_domain.then(|| start..path_end()))
}

/// Where an address starts, at or after byte `min_start`, that has `://` or `www.` at byte `at`; None if there is none.
fn url_start(bytes: &[u8], min_start: usize, at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"://") {
        let is_in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let before = &bytes[min_start..at];
        let length = before.iter().rev().take_while(|byte| is_in_scheme(byte)).count();
        let scheme = &before[before.len() - length..];
        return Some(at - length + scheme.iter().position(u8::is_ascii_alphabetic)?);
    }
    let is_www = rest.first_chunk().is_some_and(|start: &[u8; 4]| start.eq_ignore_ascii_case(b"www."));
    let is_inside = at > min_start && bytes[at - 1].is_ascii_alphanumeric();
    (is_www && !is_inside).then_some(at)
}

/// Where the address ends that byte `at` is in. The end is between characters, because the address is ASCII.
fn url_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_in_url(**byte)).count()
}

/// Whether RFC 3986 allows the character in an address: unreserved, reserved, or `%`.
fn is_in_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::Ignored;

    fn without(ignored: Ignored, text: &str) -> Vec<String> {
        let mut text = text.to_owned();
        ignored.remove(&mut text, None, &|| ()).expect("memory suffices");
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn removes_urls() {
        let urls = Ignored { urls: true, ..Ignored::default() };
        for (text, rest) in [
            ("see https://example.com/a?b=c#d now", vec!["see", "now"]),
            ("(www.example.com)", vec!["("]),
            ("请访问http://example.com/页。谢谢", vec!["请访问", "页。谢谢"]),
            ("awww. yes", vec!["awww.", "yes"]),
            ("WWW.EXAMPLE.COM FTP://X", vec![]),
            ("a://b://c d", vec!["d"]),
            ("1.2://x ://y 7git+ssh://z", vec!["1.2://x", "://y", "7"]),
            ("http://a<http://b>", vec!["<", ">"]),
            ("visit spam.example/1?u=a now", vec!["visit", "now"]),
            ("at junk.test/7, Example.COM. And münchen.de:80/x", vec!["at", ".", "And"]),
            ("write to <anna.b+c@spam.example>, @bob: @carol@y.example", vec!["write", "to", "<", ">,", ":"]),
            ("加微信@bob或spam.com谢谢", vec!["加微信", "或", "谢谢"]),
            (
                "it is done.It was no good.Top, my.No. Be.is",
                vec!["it", "is", "done.It", "was", "no", "good.Top,", "my.No.", "Be.is"],
            ),
            (
                "mail.junk.it junk.it/x www.junk.it http://junk.it a@junk.it JUNK.CO.ZA junk.it?u=1 junk.com it",
                vec!["it"],
            ),
            (
                "end.Next e.g. java.lang.String main.rs:7 /etc/a.com 1.5 5 @ 3",
                vec!["end.Next", "e.g.", "java.lang.String", "main.rs:7", "/etc/a.com", "1.5", "5", "@", "3"],
            ),
        ] {
            assert_eq!(without(urls, text), rest, "{text}");
        }
    }

    #[test]
    fn removes_ids() {
        let ids = Ignored { ids: true, ..Ignored::default() };
        for (text, rest) in [
            ("3f2a9c1e-8b4d-4c6a-9f1e-2b7c8d9e0f1a x", vec!["x"]),
            ("3f2a9c1e-8b4d-4c6a-9f1e-2b7c", vec!["-8b4d-4c6a-9f1e-2b7c"]),
            ("deadbeef 0xdeadbeef 123456 DEADBEEF", vec![]),
            (
                "status 503 port 54321 deadbee gnupg-l10n 1,000,000",
                vec!["status", "503", "port", "54321", "deadbee", "gnupg-l10n", "1,000,000"],
            ),
            ("checkout-7d9c5b8f6-x2kfq web-xk2fq web-bdcfbchjk-xzkfq", vec!["checkout-", "-", "web-", "web-", "-"]),
            ("job-1 pre-https x2kfq", vec!["job-1", "pre-https", "x2kfq"]),
        ] {
            assert_eq!(without(ids, text), rest, "{text}");
        }
    }

    #[test]
    fn joins_hyphenated_words() {
        let hyphenation = Ignored { hyphenation: true, ..Ignored::default() };
        for (text, rest) in [
            ("exam-\nple", vec!["example"]),
            ("exam- \r\n\t ple", vec!["example"]),
            ("self-hosted - \nno", vec!["self-hosted", "-", "no"]),
            ("2010-\n2012 a-\n\nb", vec!["2010-", "2012", "a-", "b"]),
        ] {
            assert_eq!(without(hyphenation, text), rest, "{text}");
        }
    }

    #[test]
    fn long_text_of_schemes_is_read_once() {
        let urls = Ignored { urls: true, ..Ignored::default() };
        assert!(without(urls, &("a.".repeat(100_000) + &"://".repeat(1000))).is_empty());
    }

    #[test]
    fn long_list_of_files_is_read_once() {
        let urls = Ignored { urls: true, ..Ignored::default() };
        let files = "a.b:".repeat(1_000_000);
        assert_eq!(without(urls, &files), [files.as_str()]);
    }
}
