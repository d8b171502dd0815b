//! A strict reader of the XML result, written from the tables of the contract and not from the renderer:
//! names, order, counts, number formats, and sums that must agree.

use roxmltree::{Document, Node};

pub type Check<T> = Result<T, String>;

/// Form of a text or attribute.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    Uint,
    /// Decimals after the point.
    Fixed(usize),
    /// `%.0f`
    Whole,
    Mask,
    Flag,
    Any,
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

fn fits(text: &str, form: Form) -> bool {
    match form {
        Form::Uint => digits(text) && text.parse::<u64>().is_ok(),
        Form::Whole => digits(text),
        Form::Fixed(decimals) => text.split_once('.').is_some_and(|(whole, part)| {
            digits(whole) && part.len() == decimals && part.bytes().all(|b| b.is_ascii_digit())
        }),
        Form::Mask => text.strip_prefix("0x").is_some_and(|hex| {
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            !hex.is_empty() && hex.len() <= 16 && hex.bytes().all(is_hex) && !hex.starts_with('0')
        }),
        Form::Flag => text == "true" || text == "false",
        Form::Any => true,
    }
}

/// The children of an element, taken one after the other.
pub struct Walk<'a> {
    parent: Node<'a, 'a>,
    children: std::iter::Peekable<std::vec::IntoIter<Node<'a, 'a>>>,
}

impl<'a> Walk<'a> {
    pub fn new(parent: Node<'a, 'a>, attributes: &[&str]) -> Check<Self> {
        let names: Vec<&str> = parent.attributes().map(|a| a.name()).collect();
        if names != attributes {
            return Err(format!(
                "{}: attributes {names:?} instead of {attributes:?}",
                parent.tag_name().name()
            ));
        }
        let children: Vec<_> = parent.children().filter(Node::is_element).collect();
        Ok(Walk { parent, children: children.into_iter().peekable() })
    }

    fn name(&self) -> &'a str {
        self.parent.tag_name().name()
    }

    /// The next child, which must have this name.
    pub fn one(&mut self, name: &str) -> Check<Node<'a, 'a>> {
        self.optional(name).ok_or_else(|| {
            let found = self.children.peek().map_or("the end", |node| node.tag_name().name());
            format!("{}: {found} instead of {name}", self.name())
        })
    }

    pub fn optional(&mut self, name: &str) -> Option<Node<'a, 'a>> {
        self.children.next_if(|node| node.tag_name().name() == name)
    }

    pub fn many(&mut self, name: &str) -> Vec<Node<'a, 'a>> {
        std::iter::from_fn(|| self.optional(name)).collect()
    }

    /// A leaf of this name and form.
    pub fn leaf(&mut self, name: &str, form: Form) -> Check<&'a str> {
        let node = self.one(name)?;
        leaf(node, &[], form)
    }

    pub fn uint(&mut self, name: &str) -> Check<u64> {
        self.leaf(name, Form::Uint)?.parse().map_err(|e| format!("{name}: {e}"))
    }

    pub fn fixed(&mut self, name: &str, decimals: usize) -> Check<f64> {
        self.leaf(name, Form::Fixed(decimals))?.parse().map_err(|e| format!("{name}: {e}"))
    }

    /// Nothing may follow.
    pub fn end(mut self) -> Check<()> {
        match self.children.next() {
            None => Ok(()),
            Some(node) => Err(format!("{}: {} is too much", self.name(), node.tag_name().name())),
        }
    }
}

fn leaf<'a>(node: Node<'a, 'a>, attributes: &[&str], form: Form) -> Check<&'a str> {
    Walk::new(node, attributes)?.end()?;
    let text = node.text().unwrap_or("");
    if fits(text, form) {
        Ok(text)
    } else {
        Err(format!("{}: {text:?} is no {form:?}", node.tag_name().name()))
    }
}

fn attribute<'a>(node: Node<'a, 'a>, name: &str, form: Form) -> Check<&'a str> {
    let text = node.attribute(name).ok_or_else(|| format!("{name} is missing"))?;
    if fits(text, form) { Ok(text) } else { Err(format!("{name}: {text:?} is no {form:?}")) }
}

fn uint(node: Node<'_, '_>, name: &str) -> Check<u64> {
    let text = node.attribute(name).ok_or_else(|| format!("{name} is missing"))?;
    if !fits(text, Form::Uint) {
        return Err(format!("{name}: {text:?} is no number"));
    }
    text.parse().map_err(|e| format!("{name}: {e}"))
}

fn mask(node: Node<'_, '_>, name: &str) -> Check<u64> {
    let text = node.attribute(name).ok_or_else(|| format!("{name} is missing"))?;
    if !fits(text, Form::Mask) {
        return Err(format!("{name}: {text:?} is no mask"));
    }
    u64::from_str_radix(&text[2..], 16).map_err(|e| format!("{name}: {e}"))
}

fn wanted(is_so: bool, what: impl FnOnce() -> String) -> Check<()> {
    if is_so { Ok(()) } else { Err(what()) }
}

/// Checks a whole result.
pub fn check(text: &str) -> Check<()> {
    lines(text)?;
    let document = Document::parse(text).map_err(|e| e.to_string())?;
    let root = document.root_element();
    wanted(root.tag_name().name() == "Results", || "the root is not Results".to_string())?;
    let mut results = Walk::new(root, &[])?;
    let processors = system(results.one("System")?)?;
    let profile = results.one("Profile")?;
    let spans = profile_spans(profile)?;
    for span in spans {
        time_span(results.one("TimeSpan")?, span, profile, &processors)?;
    }
    results.end()
}

/// One tag or leaf per line, two blanks per level, LF between, nothing after the last.
fn lines(text: &str) -> Check<()> {
    wanted(text.starts_with("<Results>\n"), || "the first line".to_string())?;
    wanted(text.ends_with("\n</Results>"), || "the last line".to_string())?;
    let mut open: Vec<&str> = Vec::new();
    for (i, line) in text.split('\n').enumerate() {
        let fault = || format!("line {}: {line:?}", i + 1);
        let tag = line.trim_start_matches(' ');
        let indent = line.len() - tag.len();
        wanted(!line.chars().any(char::is_control), fault)?;
        wanted(tag.starts_with('<') && tag.ends_with('>'), fault)?;
        let tags = tag.matches('<').count();
        let depth = if let Some(name) = tag.strip_prefix("</") {
            wanted(tags == 1 && open.pop() == name.strip_suffix('>'), fault)?;
            open.len()
        } else if tag.ends_with("/>") {
            wanted(tags == 1 && !tag.ends_with(" />"), fault)?;
            open.len()
        } else if tags == 1 {
            open.push(tag[1..].split([' ', '>']).next().unwrap_or(""));
            open.len() - 1
        } else {
            let name = tag[1..].split([' ', '>']).next().unwrap_or("");
            wanted(tags == 2 && tag.ends_with(&format!("</{name}>")), fault)?;
            open.len()
        };
        wanted(indent == 2 * depth, fault)?;
    }
    wanted(open.is_empty(), || "something is left open".to_string())
}

/// Group and number of every processor.
type Processors = Vec<(u64, u64)>;

fn system(node: Node<'_, '_>) -> Check<Processors> {
    let mut system = Walk::new(node, &[])?;
    system.leaf("ComputerName", Form::Any)?;
    let mut tool = Walk::new(system.one("Tool")?, &[])?;
    wanted(tool.leaf("Version", Form::Any)? == "2.2.0", || "version".to_string())?;
    wanted(tool.leaf("VersionDate", Form::Any)? == "2024/6/3", || "version date".to_string())?;
    tool.end()?;
    let time = system.leaf("RunTime", Form::Any)?;
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    wanted(shape.is_empty() || shape == "0000/00/00 00:00:00 UTC", || format!("RunTime {time:?}"))?;
    let scheme = system.one("PowerScheme")?;
    leaf(scheme, &["Name", "Guid"], Form::Any)?;
    wanted(scheme.text().is_none(), || "PowerScheme has content".to_string())?;
    let processors = topology(system.one("ProcessorTopology")?)?;
    system.end()?;
    Ok(processors)
}

fn topology(node: Node<'_, '_>) -> Check<Processors> {
    attribute(node, "Heterogeneous", Form::Flag)?;
    let mut topology = Walk::new(node, &["Heterogeneous"])?;
    let groups = topology.many("Group");
    wanted(!groups.is_empty(), || "no group".to_string())?;
    let mut processors = Vec::new();
    for (number, group) in groups.into_iter().enumerate() {
        leaf(group, &["Group", "MaximumProcessors", "ActiveProcessors", "ActiveProcessorMask"], Form::Any)?;
        let active = mask(group, "ActiveProcessorMask")?;
        wanted(uint(group, "Group")? == number as u64, || "groups out of order".to_string())?;
        wanted(uint(group, "ActiveProcessors")? == u64::from(active.count_ones()), || "active".to_string())?;
        wanted(uint(group, "MaximumProcessors")? >= u64::from(active.count_ones()), || {
            "maximum".to_string()
        })?;
        processors.extend((0..64).filter(|bit| active >> bit & 1 == 1).map(|bit| (number as u64, bit)));
    }
    for name in ["Node", "Socket"] {
        let mut seen = Vec::new();
        let mut last = None;
        for set in topology.many(name) {
            let mut walk = Walk::new(set, &[name])?;
            let number = uint(set, name)?;
            wanted(last.is_none_or(|last| last < number), || format!("{name} out of order"))?;
            last = Some(number);
            let groups = walk.many("Group");
            wanted(!groups.is_empty(), || format!("{name} without processors"))?;
            for group in groups {
                leaf(group, &["Group", "Mask"], Form::Any)?;
                seen.extend(members(group)?);
            }
            walk.end()?;
        }
        seen.sort_unstable();
        wanted(seen == processors, || format!("{name} elements do not cover the processors"))?;
    }
    let mut seen = Vec::new();
    let (mut last, mut class_max) = (None, 0);
    for core in topology.many("Core") {
        leaf(core, &["Group", "Core", "Mask", "EfficiencyClass"], Form::Any)?;
        let place = (uint(core, "Group")?, uint(core, "Core")?);
        wanted(last.is_none_or(|last| last < place), || "cores out of order".to_string())?;
        last = Some(place);
        class_max = class_max.max(uint(core, "EfficiencyClass")?);
        seen.extend(members(core)?);
    }
    seen.sort_unstable();
    wanted(seen == processors, || "Core elements do not cover the processors".to_string())?;
    let is_heterogeneous = node.attribute("Heterogeneous") == Some("true");
    wanted(is_heterogeneous == (class_max > 0), || "Heterogeneous".to_string())?;
    topology.end()?;
    Ok(processors)
}

fn members(node: Node<'_, '_>) -> Check<Processors> {
    let (group, mask) = (uint(node, "Group")?, mask(node, "Mask")?);
    Ok((0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| (group, bit)).collect())
}

/// What the profile asks of the result of one time span.
struct Span<'a> {
    latency: bool,
    iops: bool,
    request_count: &'a str,
    threads: u64,
    paths: Vec<&'a str>,
    interval_ms: u64,
    has_distribution: Vec<bool>,
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Check<Node<'a, 'a>> {
    node.children().find(|n| n.tag_name().name() == name).ok_or_else(|| format!("{name} is missing"))
}

fn child_text<'a>(node: Node<'a, 'a>, name: &str) -> Check<&'a str> {
    Ok(child(node, name)?.text().unwrap_or(""))
}

fn child_uint(node: Node<'_, '_>, name: &str) -> Check<u64> {
    let node = node.children().find(|n| n.tag_name().name() == name).ok_or_else(|| format!("no {name}"))?;
    node.text().unwrap_or("").parse().map_err(|e| format!("{name}: {e}"))
}

/// The profile's own form is for other tests; here it only says what to expect.
fn profile_spans<'a>(profile: Node<'a, 'a>) -> Check<Vec<Span<'a>>> {
    let mut spans = Vec::new();
    for span in child(profile, "TimeSpans")?.children().filter(Node::is_element) {
        let targets: Vec<_> = child(span, "Targets")?.children().filter(Node::is_element).collect();
        let total = child_uint(span, "ThreadCount")?;
        let mut per_target = 0;
        let (mut paths, mut has_distribution) = (Vec::new(), Vec::new());
        for &target in &targets {
            per_target += child_uint(target, "ThreadsPerFile")?;
            paths.push(child_text(target, "Path")?);
            has_distribution.push(child(target, "Distribution").is_ok());
        }
        spans.push(Span {
            latency: child_text(span, "MeasureLatency")? == "true",
            iops: child_text(span, "CalculateIopsStdDev")? == "true",
            request_count: child_text(span, "RequestCount")?,
            threads: if total > 0 { total } else { per_target },
            paths,
            interval_ms: child_uint(span, "IoBucketDuration")?,
            has_distribution,
        });
    }
    Ok(spans)
}

#[derive(Default, Clone, Copy)]
struct Counts {
    reads: u64,
    writes: u64,
}

fn time_span(
    node: Node<'_, '_>,
    span: Span<'_>,
    profile: Node<'_, '_>,
    processors: &Processors,
) -> Check<()> {
    let mut walk = Walk::new(node, &[])?;
    if let Some(error) = walk.optional("Error") {
        let text = leaf(error, &[], Form::Any)?;
        let expected = "The test was interrupted before the measurements began. No results are displayed.";
        wanted(text == expected, || format!("Error {text:?}"))?;
        return walk.end();
    }
    walk.fixed("TestTimeSeconds", 2)?;
    wanted(walk.uint("ThreadCount")? == span.threads, || "ThreadCount".to_string())?;
    wanted(walk.leaf("RequestCount", Form::Uint)? == span.request_count, || "RequestCount".to_string())?;
    wanted(walk.uint("ProcCount")? == processors.len() as u64, || "ProcCount".to_string())?;
    cpu(walk.one("CpuUtilization")?, processors)?;
    let latency = walk.optional("Latency");
    wanted(latency.is_some() == span.latency, || "Latency without -L, or none with it".to_string())?;
    let iops = walk.optional("Iops");
    wanted(iops.is_some() == span.iops, || "Iops without -D, or none with it".to_string())?;
    let threads = walk.many("Thread");
    wanted(threads.len() as u64 == span.threads, || "number of Thread elements".to_string())?;
    let mut counts = Counts::default();
    let mut buckets = 0;
    for (number, thread) in threads.into_iter().enumerate() {
        self::thread(thread, number as u64, &span, profile, &mut counts, &mut buckets)?;
    }
    if let Some(node) = latency {
        self::latency(node, counts)?;
    }
    if let Some(node) = iops {
        let count = self::iops(node, span.interval_ms)?;
        wanted(count == buckets, || "the series is as long as the longest of its parts".to_string())?;
    }
    walk.end()
}

fn cpu(node: Node<'_, '_>, processors: &Processors) -> Check<()> {
    let mut walk = Walk::new(node, &[])?;
    let mut sums = [0.0; 4];
    let rows = walk.many("CPU");
    let mut found = Vec::new();
    for row in &rows {
        let mut cpu = Walk::new(*row, &[])?;
        cpu.uint("Socket")?;
        cpu.uint("Node")?;
        let group = cpu.uint("Group")?;
        cpu.uint("Core")?;
        cpu.uint("EfficiencyClass")?;
        found.push((group, cpu.uint("Id")?));
        for (sum, figure) in sums.iter_mut().zip(percentages(&mut cpu)?) {
            *sum += figure;
        }
        cpu.end()?;
    }
    wanted(found == *processors, || "CPU elements are not the processors in order".to_string())?;
    let mut average = Walk::new(walk.one("Average")?, &[])?;
    for (sum, figure) in sums.into_iter().zip(percentages(&mut average)?) {
        let mean = sum / rows.len() as f64;
        wanted((mean - figure).abs() < 0.011, || format!("average {figure} instead of {mean}"))?;
    }
    average.end()?;
    walk.end()
}

fn percentages(walk: &mut Walk<'_>) -> Check<[f64; 4]> {
    let usage = walk.fixed("UsagePercent", 2)?;
    let user = walk.fixed("UserPercent", 2)?;
    let kernel = walk.fixed("KernelPercent", 2)?;
    let idle = walk.fixed("IdlePercent", 2)?;
    wanted((user + kernel - usage).abs() < 0.021, || "usage is not user and kernel".to_string())?;
    Ok([usage, user, kernel, idle])
}

fn latency(node: Node<'_, '_>, counts: Counts) -> Check<()> {
    let mut walk = Walk::new(node, &["ReadHistoBuckets", "WriteHistoBuckets", "TotalHistoBuckets"])?;
    let columns = [("Read", counts.reads), ("Write", counts.writes), ("Total", counts.reads + counts.writes)];
    let mut means = Vec::new();
    for (name, count) in columns {
        let buckets = uint(node, &format!("{name}HistoBuckets"))?;
        wanted((buckets > 0) == (count > 0) && buckets <= count, || format!("{name}HistoBuckets {buckets}"))?;
        if count > 0 {
            means.push(walk.fixed(&format!("Average{name}Milliseconds"), 3)?);
            let deviation = if name == "Total" { String::new() } else { name.to_string() };
            walk.fixed(&format!("{deviation}LatencyStdev"), 3)?;
        }
    }
    let names = (0..=99).map(|p: u32| p.to_string());
    let nines = ["99.9", "99.99", "99.999", "99.9999", "99.99999", "99.999999", "99.9999999", "100"];
    let mut last = [0.0f64; 3];
    for (i, name) in names.chain(nines.map(str::to_string)).enumerate() {
        let mut bucket = Walk::new(walk.one("Bucket")?, &[])?;
        wanted(bucket.leaf("Percentile", Form::Any)? == name, || format!("percentile {name}"))?;
        for (last, (column, count)) in last.iter_mut().zip(columns) {
            if count > 0 {
                let figure = bucket.fixed(&format!("{column}Milliseconds"), 3)?;
                wanted(figure >= *last, || format!("{column} falls at percentile {name}"))?;
                *last = figure;
            }
        }
        bucket.end()?;
        if i == 0 {
            for (mean, (first, _)) in means.iter().zip(last.iter().zip(columns).filter(|(_, c)| c.1 > 0)) {
                wanted(mean >= first, || "the mean is below the minimum".to_string())?;
            }
        }
    }
    walk.end()
}

/// Number of buckets.
fn iops(node: Node<'_, '_>, interval_ms: u64) -> Check<usize> {
    let mut walk = Walk::new(node, &[])?;
    let read = walk.optional("ReadIopsStdDev");
    let write = walk.optional("WriteIopsStdDev");
    let total = walk.optional("IopsStdDev");
    for deviation in [read, write, total].into_iter().flatten() {
        leaf(deviation, &[], Form::Fixed(3))?;
    }
    wanted(total.is_some() == (read.is_some() || write.is_some()), || "IopsStdDev".to_string())?;
    let buckets = walk.many("Bucket");
    wanted(total.is_some() != buckets.is_empty(), || "deviations and buckets go together".to_string())?;
    for (i, bucket) in buckets.iter().enumerate() {
        let mut names = vec!["SampleMillisecond", "Read", "Write", "Total"];
        let latencies: Vec<String> = ["Read", "Write"]
            .iter()
            .flat_map(|kind| {
                [
                    "MinLatencyMilliseconds",
                    "MaxLatencyMilliseconds",
                    "AvgLatencyMilliseconds",
                    "LatencyStdDev",
                ]
                .map(|name| format!("{kind}{name}"))
            })
            .collect();
        names.extend(latencies.iter().map(String::as_str));
        leaf(*bucket, &names, Form::Any)?;
        wanted(bucket.text().is_none(), || "a bucket has content".to_string())?;
        let end_ms = uint(*bucket, "SampleMillisecond")?;
        wanted(end_ms == (i as u64 + 1) * interval_ms, || format!("SampleMillisecond {end_ms}"))?;
        let mut rates = [0i128; 3];
        for (rate, name) in rates.iter_mut().zip(["Read", "Write", "Total"]) {
            attribute(*bucket, name, Form::Whole)?;
            *rate = uint(*bucket, name)?.into();
        }
        // Each is rounded on its own.
        wanted((rates[0] + rates[1] - rates[2]).abs() <= 1, || format!("rates {rates:?}"))?;
        for (name, rate) in [("Read", rates[0]), ("Write", rates[1])] {
            let figure = |tail: &str| -> Check<f64> {
                let name = format!("{name}{tail}");
                let text = bucket.attribute(name.as_str()).unwrap_or("");
                wanted(fits(text, Form::Fixed(3)), || format!("{name} {text:?}"))?;
                text.parse().map_err(|e| format!("{name}: {e}"))
            };
            let (min, max) = (figure("MinLatencyMilliseconds")?, figure("MaxLatencyMilliseconds")?);
            let (mean, deviation) = (figure("AvgLatencyMilliseconds")?, figure("LatencyStdDev")?);
            wanted(min <= mean + 0.001 && mean <= max + 0.001, || format!("{name}: {min} {mean} {max}"))?;
            wanted(rate > 0 || (max == 0.0 && deviation == 0.0), || format!("{name}: latency of nothing"))?;
        }
    }
    walk.end()?;
    Ok(buckets.len())
}

fn thread(
    node: Node<'_, '_>,
    number: u64,
    span: &Span<'_>,
    profile: Node<'_, '_>,
    counts: &mut Counts,
    buckets: &mut usize,
) -> Check<()> {
    let mut walk = Walk::new(node, &[])?;
    wanted(walk.uint("Id")? == number, || format!("Id of thread {number}"))?;
    let targets = walk.many("Target");
    wanted(!targets.is_empty(), || "a thread without target".to_string())?;
    for target in targets {
        let (one, length) = self::target(target, span)?;
        counts.reads += one.reads;
        counts.writes += one.writes;
        *buckets = (*buckets).max(length);
    }
    let has_waits = child_text_of(profile, "VerboseStats") == Some("true");
    if has_waits {
        let mut waits = Walk::new(walk.one("WaitStatistics")?, &[])?;
        for name in ["CompletionWait", "ThrottleWait", "ThrottleSleep", "Lookaside"] {
            waits.uint(name)?;
        }
        let list = waits.leaf("LookasideCompletion", Form::Any)?;
        let numbers: Vec<&str> = list.split(' ').collect();
        wanted(numbers.len() == 8 && numbers.iter().all(|n| fits(n, Form::Uint)), || list.to_string())?;
        waits.end()?;
    }
    walk.end()
}

fn child_text_of<'a>(node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
    node.children().find(|n| n.tag_name().name() == name)?.text()
}

fn target(node: Node<'_, '_>, span: &Span<'_>) -> Check<(Counts, usize)> {
    let mut walk = Walk::new(node, &[])?;
    let path = walk.leaf("Path", Form::Any)?;
    let index = span.paths.iter().position(|p| *p == path);
    let index = index.ok_or_else(|| format!("the path {path:?} is not in the profile"))?;
    let bytes = walk.uint("BytesCount")?;
    walk.uint("FileSize")?;
    let ios = walk.uint("IOCount")?;
    let (read_bytes, reads) = (walk.uint("ReadBytes")?, walk.uint("ReadCount")?);
    let (write_bytes, writes) = (walk.uint("WriteBytes")?, walk.uint("WriteCount")?);
    wanted(read_bytes + write_bytes == bytes, || "BytesCount".to_string())?;
    wanted(reads + writes == ios, || "IOCount".to_string())?;
    let distribution = walk.optional("Distribution");
    wanted(distribution.is_some() == span.has_distribution[index], || format!("Distribution of {path}"))?;
    if let Some(node) = distribution {
        let mut walk = Walk::new(node, &[])?;
        let mut list = Walk::new(walk.one("Absolute")?, &[])?;
        let ranges = list.many("Range");
        wanted(!ranges.is_empty(), || "no ranges".to_string())?;
        let mut shares = 0;
        for range in ranges {
            shares += uint(range, "IO")?;
            leaf(range, &["IO"], Form::Uint)?;
        }
        wanted(shares > 0 && shares <= 100, || format!("shares of {shares}"))?;
        list.end()?;
        walk.end()?;
    }
    if span.latency {
        for (name, count) in [("Read", reads), ("Write", writes)] {
            if count > 0 {
                walk.fixed(&format!("Average{name}LatencyMilliseconds"), 3)?;
                walk.fixed(&format!("{name}LatencyStdev"), 3)?;
            }
        }
    }
    let length = if span.iops { iops(walk.one("Iops")?, span.interval_ms)? } else { 0 };
    walk.end()?;
    Ok((Counts { reads, writes }, length))
}
