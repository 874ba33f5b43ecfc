#!/usr/bin/env bash
# Builds the container in packaging/Containerfile with the program in target/dist, on a Debian that
# is made here without a registry, and runs the program in it.      (make container; root)
#
# buildah builds with chroot, so that this also works inside containers. The image is deleted at the
# end; KEEP=FILE.tar writes it as an archive that `podman load` reads.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

dist="$target/dist"
arch="$(dpkg --print-architecture)"
[ "$(id -u)" = 0 ] || die "needs root, for chroot"
base="$(scripts/dist/small-debian.sh)"
work="$(mktemp -d /var/tmp/everytab-container.XXXXXX)"
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
image() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }
clean() {
    image rm --all >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT

# The base image, in this script's own store.
empty="$(image from scratch)"
image add --quiet "$empty" "$base" / >/dev/null
image commit --quiet --rm "$empty" localhost/debian >/dev/null
cp "$dist/everytab-worker-$arch" "$dist/Containerfile" "$work/"
image build --quiet --build-arg BASE=localhost/debian --build-arg "ARCH=$arch" \
    --tag localhost/everytab "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

said="$(image inspect --type image --format \
    '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.StopSignal}}' \
    localhost/everytab)"
[ "$said" = "everytab [/usr/bin/everytab-worker] SIGTERM" ] || die "unexpected: $said"
container="$(image from localhost/everytab)"
inside() { image run "$container" -- "$@"; }
[ "$(inside id -un)" = everytab ] || die "the program runs as $(inside id -un)"
version="$(inside /usr/bin/everytab-worker --version)"
[[ "$version" == "everytab-worker "* ]] || die "no version: $version"
say "$version, as everytab"
doctor="$(inside /usr/bin/everytab-worker doctor 2>/dev/null || true)"
sed 's/^/container: /' <<<"$doctor" >&2
# The other checks depend on the host.
for check in encoder fetcher 'temporary files'; do
    grep -qE "^ok +$check" <<<"$doctor" || die "doctor finds no good $check"
done
[ -z "${KEEP:-}" ] || image push --quiet localhost/everytab "docker-archive:$KEEP:everytab:latest"
echo "container: 1 passed, 0 failed"
