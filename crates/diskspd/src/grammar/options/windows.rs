//! Events and tracing: `-y -e` (`command-line.md` §5.9). Nothing is created or set here.

use super::super::draft::Draft;
use super::alone;
use crate::grammar::value::{Slip, Value, length};
use truespd_core::profile::Etw;

fn name(v: &Value) -> Result<String, Slip> {
    match v.text {
        "" => Err(Slip::new("the name of the event is missing").at(0..0)),
        text => Ok(text.to_string()),
    }
}

pub fn start_event(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.events.start = Some(name(v)?);
    Ok(())
}

pub fn finish_event(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.events.finish = Some(name(v)?);
    Ok(())
}

pub fn wait_event(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.events.wait = Some(name(v)?);
    Ok(())
}

pub fn stop_event(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.events.stop = Some(name(v)?);
    Ok(())
}

pub fn set_event(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.set_events.push(name(v)?);
    Ok(())
}

fn tracing<'a>(d: &'a mut Draft) -> &'a mut Etw {
    d.note("-e asks for Windows kernel tracing: it is kept in the profile, but no trace counters will be reported");
    d.etw.get_or_insert_default()
}

pub fn paged_memory(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-ep");
    tracing(d).use_paged_memory = true;
    Ok(())
}

pub fn perf_timer(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-eq");
    tracing(d).use_perf_timer = true;
    Ok(())
}

pub fn system_timer(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-es");
    tracing(d).use_system_timer = true;
    Ok(())
}

pub fn cycles_counter(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-ec");
    tracing(d).use_cycles_counter = true;
    Ok(())
}

pub fn trace(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let set: fn(&mut Etw) = match v.text {
        "PROCESS" => |etw| etw.process = true,
        "THREAD" => |etw| etw.thread = true,
        "IMAGE_LOAD" => |etw| etw.image_load = true,
        "DISK_IO" => |etw| etw.disk_io = true,
        "MEMORY_PAGE_FAULTS" => |etw| etw.memory_page_faults = true,
        "MEMORY_HARD_FAULTS" => |etw| etw.memory_hard_faults = true,
        "NETWORK" => |etw| etw.network = true,
        "REGISTRY" => |etw| etw.registry = true,
        text => {
            let what = if text.is_empty() { "the name of a trace is missing" } else { "this is not a trace" };
            return Err(Slip::new(what).at(0..length(text)).legal(
                "-eq, -es, -ec, -ep, or -e and one of PROCESS, THREAD, IMAGE_LOAD, DISK_IO, MEMORY_PAGE_FAULTS, \
                 MEMORY_HARD_FAULTS, NETWORK, REGISTRY",
            ));
        }
    };
    set(tracing(d));
    Ok(())
}
