#!/usr/bin/env bash
# Makes the files of a container image that holds nothing but programs: those named, the libraries they are linked to,
# the web's certificate authorities, a user and an empty /tmp. The Dockerfile runs it where the programs were built.
#
#   deploy/image-root.sh DIRECTORY PROGRAM…
set -euo pipefail

root=$1
shift
install -d "$root"/{etc/ssl/certs,usr/local/bin}
install -d -m 1777 "$root/tmp"
install -t "$root/usr/local/bin" "$@"

# The loader stands beside the libraries in ldd's list, with the path that is written into the programs.
ldd "$@" | grep -oE '/[^ ]+\.so[^ ]*' | sort -u | while read -r library; do
  install -D "$library" "$root$library"
done

install -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'pillion:x:10001:10001::/:/sbin/nologin' >"$root/etc/passwd"
echo 'pillion:x:10001:' >"$root/etc/group"
# Names of other containers come from the hosts file and the engine's DNS.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
