//! Amounts of bytes in sentences, and as people type them.

use super::number::grouped;

const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// A measured amount, to three digits: `8 KiB`, `1.5 GiB`, `512 bytes`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
    if value < 1024.0 {
        return format!("{} bytes", grouped(value.round()));
    }
    let mut scaled = value / 1024.0;
    let mut unit = 0;
    // What would be shown as 1024 belongs to the next unit.
    while scaled >= 1023.95 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let text = if scaled >= 99.95 { format!("{scaled:.0}") } else { format!("{scaled:.1}") };
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// The size of something: `931.5 GiB`, `1 GiB`, `512 bytes`; without decimals only where it is exact.
pub fn size(bytes: u64) -> String {
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        None => format!("{bytes} bytes"),
        Some((unit, name)) if bytes.is_multiple_of(*unit) => format!("{} {name}", grouped(bytes / unit)),
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
    }
}

/// A size to recognise something by, rounded down, without a blank: `476.9GiB`, `1GiB`, `512 bytes`.
pub fn coarse_size(bytes: u64) -> String {
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let tenths = u128::from(bytes) * 10 / u128::from(*unit);
    match tenths % 10 {
        0 => format!("{}{name}", tenths / 10),
        part => format!("{}.{part}{name}", tenths / 10),
    }
}

/// Bytes per second: `12 MiB/s`, `193 KiB/s`.
pub fn rate(bytes_per_s: f64) -> String {
    let unit = if bytes_per_s >= 1024.0 * 1024.0 { 1024.0 * 1024.0 } else { 1024.0 };
    let (scaled, name) = (bytes_per_s / unit, if unit > 1024.0 { "MiB" } else { "KiB" });
    let text = if scaled >= 99.95 { grouped(scaled.round() as u64) } else { format!("{scaled:.1}") };
    format!("{} {name}/s", text.strip_suffix(".0").unwrap_or(&text))
}

/// The same in units of 1000, as CrystalDiskMark and winsat count: `12.6 MB/s`, `193 kB/s`.
pub fn decimal_rate(bytes_per_s: f64) -> String {
    let (unit, name) = if bytes_per_s >= 1e6 { (1e6, "MB") } else { (1e3, "kB") };
    let scaled = bytes_per_s / unit;
    let text = if scaled >= 99.95 { grouped(scaled.round() as u64) } else { format!("{scaled:.1}") };
    format!("{} {name}/s", text.strip_suffix(".0").unwrap_or(&text))
}

/// A size as it can be typed: `64K`, `1G`, `4097`.
pub fn typed_size(bytes: u64) -> String {
    let fits = |(unit, _): &&(u64, &str)| bytes > 0 && bytes.is_multiple_of(*unit);
    match UNITS.iter().find(fits) {
        Some((unit, name)) => format!("{}{}", bytes / unit, &name[..1]),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_amounts_have_three_digits() {
        for (value, text) in [
            (512.0, "512 bytes"),
            (8192.0, "8 KiB"),
            (1536.0, "1.5 KiB"),
            (249_856.0, "244 KiB"),
            (1_048_575.0, "1 MiB"),
            (1_073_741_824.0, "1 GiB"),
            (f64::NAN, "0 bytes"),
        ] {
            assert_eq!(bytes(value), text, "{value}");
        }
        let rates = [0.0, 500.0, 197_000.0, 12_582_912.0, 3e9].map(rate);
        assert_eq!(rates.join(" "), "0 KiB/s 0.5 KiB/s 192 KiB/s 12 MiB/s 2,861 MiB/s");
        let rates = [0.0, 500.0, 197_000.0, 12_582_912.0, 3e9].map(decimal_rate);
        assert_eq!(rates.join(" "), "0 kB/s 0.5 kB/s 197 kB/s 12.6 MB/s 3,000 MB/s");
    }

    #[test]
    fn sizes_are_exact_coarse_or_typed() {
        for (bytes, exact, coarse, typed) in [
            (0, "0 bytes", "0 bytes", "0"),
            (512, "512 bytes", "512 bytes", "512"),
            (4097, "4.0 KiB", "4KiB", "4097"),
            (1 << 30, "1 GiB", "1GiB", "1G"),
            (3 << 29, "1.5 GiB", "1.5GiB", "1536M"),
            (1_000_204_886_016, "931.5 GiB", "931.5GiB", "976762584K"),
            (512 << 20, "512 MiB", "512MiB", "512M"),
            (1536 << 30, "1.5 TiB", "1.5TiB", "1536G"),
            (2048 << 40, "2,048 TiB", "2048TiB", "2048T"),
        ] {
            assert_eq!(size(bytes), exact);
            assert_eq!(coarse_size(bytes), coarse);
            assert_eq!(typed_size(bytes), typed);
        }
    }
}
