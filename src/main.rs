//! Arguments, telemetry, dispatch: nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    memfold::cli::run(std::env::args_os())
}
