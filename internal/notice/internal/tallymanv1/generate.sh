#!/bin/sh
# Writes notice.pb.go from notice.proto. Needs protoc (Debian: apt-get install protobuf-compiler);
# protoc-gen-go comes from the module, at the version in go.mod.
# With an argument, writes into that folder instead, so that a check can compare.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
protoc --plugin="protoc-gen-go=$bin/protoc-gen-go" --go_out="$out" --go_opt=paths=source_relative notice.proto
# The version of protoc differs from machine to machine and says nothing about the result.
sed -i.bak '/^\/\/[[:space:]]*protoc  *v/d' "$out/notice.pb.go"
rm -f "$out/notice.pb.go.bak"
