"""A `java` of ours before a Java that lacks modules which Spark asks for.

Spark starts every JVM with `--add-modules=jdk.incubator.vector`, and a Java that does not have the
module refuses to start. The launcher is a shell script in a directory that can be a JAVA_HOME: it
drops the modules which are not there, and turns itself into the real Java. What comes after the
main class is the program's own, and stays as it is.
Above: java.py. Below: caches.py.
"""

import re
import shlex
from pathlib import Path

from kafkaesque.pipelines.starting.caches import cache_directory, key, write_whole

ADDED = "jdk.incubator.vector"
# In a JAVA_HOME's `release`.
_MODULES = re.compile(r'^MODULES="([^"]*)"', re.MULTILINE)

# POSIX sh. Each argument is taken from the front and put back at the end, unless it is dropped.
_SCRIPT = """\
#!/bin/sh
# Written by kafkaesque; it is made anew if it is deleted.
modules={modules}

present() {{
  case " $modules ALL-DEFAULT ALL-SYSTEM ALL-MODULE-PATH " in *" $1 "*) return 0 ;; esac
  return 1
}}

only_present() {{
  kept=
  old_ifs=$IFS
  IFS=,
  for module in $1; do
    if present "$module"; then kept="${{kept:+$kept,}}$module"; fi
  done
  IFS=$old_ifs
}}

left=$#
options=yes
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  if [ "$options" = no ]; then
    set -- "$@" "$argument"
    continue
  fi
  case $argument in
    --add-modules | --add-opens | --add-exports | --add-reads)
      if [ "$left" -gt 0 ]; then
        argument="$argument=$1"
        shift
        left=$((left - 1))
      fi
      ;;
  esac
  case $argument in
    --add-modules=*)
      only_present "${{argument#*=}}"
      if [ -n "$kept" ]; then set -- "$@" "--add-modules=$kept"; fi
      ;;
    --add-opens=* | --add-exports=* | --add-reads=*)
      module=${{argument#*=}}
      module=${{module%%[/=]*}}
      if present "$module"; then set -- "$@" "$argument"; fi
      ;;
    -cp | -classpath | --class-path | -p | --module-path | --upgrade-module-path)
      set -- "$@" "$argument"
      if [ "$left" -gt 0 ]; then
        value=$1
        shift
        left=$((left - 1))
        set -- "$@" "$value"
      fi
      ;;
    -jar | -m | --module)
      options=no
      set -- "$@" "$argument"
      ;;
    -*) set -- "$@" "$argument" ;;
    *)
      options=no
      set -- "$@" "$argument"
      ;;
  esac
done
exec {java} "$@"
"""


def modules_of(home: Path) -> tuple[str, ...]:
    """The modules that a Java says it has; none if it does not say."""
    try:
        found = _MODULES.search((home / "release").read_text())
    except OSError:
        return ()
    return tuple(found[1].split()) if found else ()


def launcher(home: Path) -> Path:
    """A directory to take as JAVA_HOME in place of `home`."""
    script = _SCRIPT.format(
        modules=shlex.quote(" ".join(modules_of(home))),
        java=shlex.quote(str(home / "bin" / "java")),
    )
    made = cache_directory() / f"java-{key(script)}"
    path = made / "bin" / "java"
    if not (path.is_file() and path.read_text() == script and path.stat().st_mode & 0o100):
        write_whole(path, script, 0o700)
    return made
