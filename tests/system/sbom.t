#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bill of materials of the archive: an SPDX 2.3 document that lists exactly what is there.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

ok 'the archive is built' make -s tarball || bail_out 'there is no archive'
name=jeprof-ctl-$(packaging/version)-linux-$(uname -m)
tar -xf "build/$name.tar.gz" -C "$T"
folder=$T/$name sbom=build/$name.spdx.json
ok 'it is in the archive, too' cmp "$sbom" "$folder/sbom.spdx.json"
is "$(tests/drivers/sbom "$sbom" "$folder")" 'as it should be' 'it lists exactly what is there'
is "$(jq -r '.packages[0].versionInfo' "$sbom")" "$(packaging/version)" 'of the version of the program'
is "$(jq -r .creationInfo.created "$sbom")" "$(date -u -d "@$(packaging/version --date)" +%FT%TZ)" 'dated as the archive is'

# The versions match those of dpkg; the order differs.
is "$(jq -r '.packages[] | select(.supplier == "Organization: Debian") | "\(.name) \(.versionInfo)"' "$sbom" | sort)" \
	"$(jq -r '.packages[] | select(.supplier == "Organization: Debian") | .name' "$sbom" |
		while read -r package; do dpkg-query -W -f '${Package} ${Version}\n' "$package:$(dpkg --print-architecture)"; done | sort)" \
	'the packages have the versions that are installed'
is "$(jq -r '.packages[].name' "$sbom" | grep -c '^libelf1$\|^libc6$\|^libarchive13$')" 3 'with those that must be there'

# --- controls: each of these faults is found ---

# wrong FILTER WORDS NAME: the document, changed by jq, is rejected
wrong()
{
	local said

	jq "$1" "$sbom" >"$T/changed"
	said=$(tests/drivers/sbom "$T/changed" "$folder" 2>&1)
	is "$?" 1 "control: $3"
	like "$said" "$2" "control: $3: the fault is named"
}
wrong '.spdxVersion = "SPDX-2.2"' 'spdxVersion' 'another version of SPDX'
wrong 'del(.packages[1].downloadLocation)' 'no downloadLocation' 'a missing field'
wrong '.files[0].extra = 1' 'extra is not known' 'an unknown field'
wrong '.creationInfo.created = "2026-13-01T00:00:00Z"' 'created' 'an impossible date'
wrong 'del(.files[0])' 'not as it is listed|code' 'a missing file'
wrong '.files[3].checksums[1].checksumValue |= ("0" * 64)' 'not as it is listed' 'another checksum'
wrong '.files[0].SPDXID = .files[1].SPDXID' 'more than once' 'one id for two files'
wrong '.relationships[5].relatedSpdxElement = "SPDXRef-nothing"' 'of what is not there' 'a relation to nothing'
wrong '.relationships |= map(select(.relationshipType != "EXPANDED_FROM_ARCHIVE"))' 'comes from nowhere' 'libraries without an origin'
wrong '.packages[0].packageVerificationCode.packageVerificationCodeValue |= ("0" * 40)' 'verification code' 'another code'
echo more >>"$folder/README.md"
like "$(tests/drivers/sbom "$sbom" "$folder")" 'README.md: not as it is listed' 'control: a changed file'

done_testing
