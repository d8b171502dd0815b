//! `--open`: a page in the browser of the person, who is told where it is when there is none.

use std::env;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use truespd_front::console::say_line;
use truespd_platform::machine::host::is_root;

/// What opens a page on a desktop.
const DESKTOP: &str = "xdg-open";
/// How long a program is given to say that it cannot: one that shows the page goes on, or is done.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

/// Shows a page, or says where it is.
pub(super) fn open(page: &str) {
    let browsers = env::var("BROWSER").unwrap_or_default();
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| env::var_os(name).is_some());
    let programs = match programs(is_root(), has_display, &browsers) {
        Ok(programs) => programs,
        Err(why) => return say_line(format_args!("{why}; open the page yourself: {page}")),
    };
    let url = match Path::new(page).canonicalize() {
        Ok(path) => url(&path),
        // It was written a moment ago: whoever removed it knows.
        Err(_) => return say_line(format_args!("the page is gone: {page}")),
    };
    for words in &programs {
        if is_started(words, &url).unwrap_or(false) {
            return;
        }
    }
    let names: Vec<&str> = programs.iter().filter_map(|words| words.first()).map(String::as_str).collect();
    say_line(format_args!(
        "no browser could be started ({}); open the page yourself: {page}",
        names.join(", ")
    ));
}

/// The programs to try in turn, each in words, or why none is tried. `browsers` is `$BROWSER`: programs with colons
/// between them.
fn programs(is_root: bool, has_display: bool, browsers: &str) -> Result<Vec<Vec<String>>, &'static str> {
    if is_root {
        return Err("no browser is started as root");
    }
    let mut programs = Vec::new();
    for program in browsers.split(':') {
        let words: Vec<String> = program.split_whitespace().map(str::to_string).collect();
        if !words.is_empty() {
            programs.push(words);
        }
    }
    if programs.is_empty() && !has_display {
        return Err("there is no display here");
    }
    if has_display {
        programs.push(vec![DESKTOP.to_string()]);
    }
    Ok(programs)
}

/// Starts a program with the page in place of `%s`, or behind its words. No shell reads the words.
fn is_started(words: &[String], url: &str) -> io::Result<bool> {
    let (program, rest) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(rest.iter().map(|word| word.replace("%s", url)));
    if !rest.iter().any(|word| word.contains("%s")) {
        command.arg(url);
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

/// The address of a file by its whole path.
fn url(path: &Path) -> String {
    let mut url = "file://".to_string();
    for byte in path.as_os_str().as_encoded_bytes() {
        let c = char::from(*byte);
        if c.is_ascii_alphanumeric() || "/-._~".contains(c) {
            url.push(c);
        } else {
            url += &format!("%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_the_person_and_of_the_desktop() {
        let of = |is_root, has_display, browsers| {
            programs(is_root, has_display, browsers)
                .map(|all| all.iter().map(|words| words.join(" ")).collect::<Vec<_>>())
        };
        assert!(of(true, true, "firefox").is_err(), "root");
        assert!(of(false, false, "").is_err() && of(false, false, " : ").is_err());
        assert_eq!(of(false, true, "").unwrap(), ["xdg-open"]);
        assert_eq!(of(false, false, "w3m").unwrap(), ["w3m"]);
        assert_eq!(of(false, true, "firefox  -P %s:lynx").unwrap(), ["firefox -P %s", "lynx", "xdg-open"]);
    }

    #[test]
    fn a_page_is_one_word_of_the_program() {
        assert_eq!(url(Path::new("/a b/$(x);'#é.html")), "file:///a%20b/%24%28x%29%3B%27%23%C3%A9.html");
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        let words = |script: &str| vec!["sh".into(), "-c".into(), script.into(), told.display().to_string()];
        assert!(is_started(&words("echo \"$1\" > \"$0\""), "file:///a;b").unwrap());
        assert_eq!(std::fs::read_to_string(&told).unwrap(), "file:///a;b\n");
        // `%s` of the words becomes the address.
        assert!(is_started(&words("echo %s > \"$0\""), "file:///ab").unwrap());
        assert_eq!(std::fs::read_to_string(&told).unwrap(), "file:///ab\n");
        assert!(!is_started(&words("exit 3"), "file:///ab").unwrap());
        assert!(is_started(&["no-such-browser".into()], "file:///ab").is_err());
    }
}
