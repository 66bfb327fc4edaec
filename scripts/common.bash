# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that the scripts read here and set for here
# What the scripts in this folder share. Sourced, never run.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
parts=$root/.memfold # everything fetched or written goes in here
run=${MEMFOLD_RUN:-$parts/run} # pid files, ports, logs and data of what runs
me=${0##*/}

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() {
  say "$@"
  exit 1
}
misused() {
  say "$1"
  say "see scripts/$me --help"
  exit 2
}

# The comment at the top of a script is its help.
help() { sed -n '2,/^$/s/^# \{0,1\}//p' "$root/scripts/$me"; }

# Holds the lock named $1 until this script ends, so that two runs in one checkout take turns. Programs that outlive
# the script must be started with 9>&-, or they would go on holding it.
lock() {
  mkdir -p "$parts"
  exec 9>"$parts/$1.lock"
  flock 9
}

free_port() {
  "${MEMFOLD_PYTHON:-python3}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
port_is_free() {
  ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
is_port() { [[ $1 =~ ^[0-9]{1,5}$ ]] && ((10#$1 >= 1 && 10#$1 <= 65535)); }

# The first line of a file, or nothing.
first_line() {
  local line=
  if [[ -f $1 ]]; then IFS= read -r line <"$1" || true; fi
  printf '%s' "$line"
}

# Sends the text $2 to the port $1 of this machine and prints the first line that comes back.
ask() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
    printf '%s' "$2" >&3
    IFS= read -r -t 10 line <&3 || true
    printf '%s' "${line%$'\r'}"
  ) 2>/dev/null
}

# Waits until the server that the script at hand found (is_ours, pid, port) is gone, at most $1 seconds.
wait_gone() {
  local tenths=$(($1 * 10))
  while is_ours "$pid" "$port"; do
    ((tenths-- > 0)) || return 1
    sleep 0.1
  done
}
