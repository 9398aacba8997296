# Shared by the scripts in this folder; sourced, never run.
# shellcheck shell=bash

# fail WHO MESSAGE...: one message on standard error, then a nonzero exit.
fail() {
  printf '%s: %s\n' "$1" "${*:2}" >&2
  exit 1
}

# cache_folder: where everything lives that is fetched and not in the checkout.
cache_folder() {
  if [ -n "${TESSERA_CACHE:-}" ]; then
    readlink -m -- "$TESSERA_CACHE"
  elif [ -n "${HOME:-}" ]; then
    printf '%s\n' "$HOME/.cache/tessera"
  else
    fail setup "neither TESSERA_CACHE nor HOME is set: set TESSERA_CACHE to a folder with 3 GB free"
  fi
}

# build_jobs: as many compilers as there are cores, but no more than memory holds (an XLA file takes about 2.5 GB).
build_jobs() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
  local by_memory=$(((memory_gb + 1) / 3))
  [ "$by_memory" -ge 1 ] || by_memory=1
  [ "$cores" -le "$by_memory" ] && echo "$cores" || echo "$by_memory"
}

# as_root COMMAND...: runs it as root, through sudo for other users. Fails when there is no way.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    sudo "$@"
  else
    return 1
  fi
}

# apt_get ARGUMENTS...: as root, asking nothing, waiting for another apt-get to finish.
apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"
}
