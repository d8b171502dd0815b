//! A function of the C library that newer versions of it give another version.

/// The length of the hypotenuse. glibc 2.35 has a new version of it, and a program that was linked with that does not
/// start with 2.34, which the packages promise. The crate that draws pictures needs it.
#[unsafe(no_mangle)]
extern "C" fn hypotf(x: f32, y: f32) -> f32 {
    // The squares of all `f32` are far within `f64`.
    let (x, y) = (f64::from(x), f64::from(y));
    (x * x + y * y).sqrt() as f32
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_what_the_standard_library_calls() {
        for (x, y, is) in [(3.0f32, 4.0, 5.0), (-5.0, 12.0, 13.0), (f32::MAX, 0.0, f32::MAX)] {
            assert_eq!(x.hypot(y), is);
            assert_eq!(super::hypotf(x, y), is);
        }
        assert!(f32::NAN.hypot(1.0).is_nan() && f32::INFINITY.hypot(1.0).is_infinite());
    }
}
