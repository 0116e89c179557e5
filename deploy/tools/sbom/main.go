// Command sbom adds the npm packages that are built into the console and the widget to the bill of materials of a
// binary. It also removes from the bill the values that differ from machine to machine.
//
// Usage: sbom WEB DIST FILE. WEB is the folder with package-lock.json. DIST is the folder with the built console and
// widget. FILE is the bill that cyclonedx-gomod has made of the binary, in JSON. The command writes FILE again.
package main

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: sbom WEB DIST FILE")
	}
	web, dist, path := args[0], args[1], args[2]
	packages, err := bundled(web, dist)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // The file was only read.
	bill := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(bill); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := complete(bill, packages); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// The places where built files name the packages that they contain: the headings of licenses.md, and the banner of the
// widget.
var (
	heading = regexp.MustCompile(`(?m)^## (\S+) - (\S+) \(`)
	banner  = regexp.MustCompile(`(?s)^/\*!.*?\*/`)
	within  = regexp.MustCompile(`(?:Contains|and) (\S+), [A-Z]`)
)

// locked is a package of package-lock.json.
type locked struct {
	Version, Integrity, License string
}

// bundled returns the packages that are built into the console and the widget.
func bundled(web, dist string) ([]cdx.Component, error) {
	text, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct{ Packages map[string]locked }
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	licenses, err := os.ReadFile(filepath.Join(dist, "licenses.md"))
	if err != nil {
		return nil, err
	}
	widget, err := os.ReadFile(filepath.Join(dist, "widget.js"))
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // The version of each package; "" = not given.
	for _, m := range within.FindAllStringSubmatch(string(banner.Find(widget)), -1) {
		names[m[1]] = ""
	}
	if len(names) == 0 {
		return nil, errors.New("the banner of widget.js names no package")
	}
	headings := heading.FindAllStringSubmatch(string(licenses), -1)
	if len(headings) == 0 {
		return nil, errors.New("licenses.md names no package")
	}
	for _, m := range headings {
		names[m[1]] = m[2]
	}
	var list []cdx.Component
	for name, version := range names {
		p, ok := lock.Packages["node_modules/"+name]
		if !ok || version != "" && version != p.Version {
			return nil, fmt.Errorf("%s %s is built into the console, and package-lock.json has %q", name, version, p.Version)
		}
		c, err := component(name, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	return list, nil
}

func component(name string, p locked) (cdx.Component, error) {
	url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: p.Version, PackageURL: url, Scope: cdx.ScopeRequired}
	if scope, rest, ok := strings.Cut(name, "/"); ok {
		c.Group, c.Name = scope, rest
	}
	if p.License != "" {
		c.Licenses = &cdx.Licenses{{License: &cdx.License{ID: p.License}}}
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Integrity, "sha512-"))
	if err != nil || len(sum) != 64 {
		return c, fmt.Errorf("its integrity is %q, and no SHA-512", p.Integrity)
	}
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(sum)}}
	return c, nil
}

// complete adds the packages to the bill, as dependencies of the program. It removes the serial number, the time, and
// the hashes of the tools that have made the bill.
func complete(bill *cdx.BOM, packages []cdx.Component) error {
	if bill.Metadata == nil || bill.Metadata.Component == nil || bill.Components == nil || bill.Dependencies == nil {
		return errors.New("the bill has no program, no components or no dependencies")
	}
	bill.SerialNumber, bill.Metadata.Timestamp = "", ""
	if tools := bill.Metadata.Tools; tools != nil && tools.Tools != nil {
		for i := range *tools.Tools {
			(*tools.Tools)[i].Hashes = nil
		}
	}
	*bill.Components = append(*bill.Components, packages...)
	program := bill.Metadata.Component.BOMRef
	for i := range *bill.Dependencies {
		d := &(*bill.Dependencies)[i]
		if d.Ref != program {
			continue
		}
		if d.Dependencies == nil {
			d.Dependencies = &[]string{}
		}
		for _, p := range packages {
			*d.Dependencies = append(*d.Dependencies, p.BOMRef)
		}
		return nil
	}
	return fmt.Errorf("the bill has no dependencies of %s", program)
}
