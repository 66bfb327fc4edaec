//! Arguments, telemetry, dispatch: nothing else.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Reading and judging allocate much in small pieces, on several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    memfold::cli::run(std::env::args_os())
}
