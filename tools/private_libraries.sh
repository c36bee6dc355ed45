#!/bin/sh
# Without root: fetch Debian packages and unpack them beside the environment, for this checkout alone.
#   sh tools/private_libraries.sh FOLDER PACKAGE...
# Uses apt's own sources and signatures with folders of ours, and installs nothing. Prints nothing
# when all went well.
set -eu
folder=$1
shift
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/debs"
folder=$(cd "$folder" && pwd)
set -- "$@"
apt() {
    apt-get -qq -o Dir::State::Lists="$folder/apt/lists" -o Dir::State::status=/var/lib/dpkg/status \
        -o Dir::Cache="$folder/apt" -o Dir::Cache::archives="$folder/apt/archives" \
        -o APT::Sandbox::User="" -o Debug::NoLocking=1 "$@"
}
apt update
# What would be installed, dependencies included; the drivers of real graphics cards are 200 MB that
# drawing offscreen does not touch.
wanted=$(apt --no-install-recommends -s install "$@" | awk '/^Inst /{print $2}' |
    grep -Ev '^(libgl1-mesa-dri|libllvm[0-9]+|libdrm-.*|libz3-4|libsensors.*|mesa-.*)$')
cd "$folder/debs"
# One word a package, so unquoted.
# shellcheck disable=SC2086
apt download $wanted
for package in ./*.deb; do
    dpkg-deb -x "$package" "$folder"
done
rm -rf "$folder/debs" "$folder/apt"
cat >"$folder/fonts.conf" <<XML
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>$folder/usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <dir prefix="xdg">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
XML
