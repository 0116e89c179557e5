package body_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBodiesInXML(t *testing.T) {
	t.Parallel()
	_, _, schema := orderSchema(t)
	for given, want := range map[string]string{
		`<a><name>x</name></a>`: `{"name":"x"}`,
		`<?xml version="1.0" encoding="UTF-8"?><!-- c --><o:order xmlns:o="urn:x" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
			<o:name xml:lang="de"> x &lt; 库 </o:name> <priority> 4 </priority><weight>1.50</weight><gift>true</gift><note xsi:nil="true"/>
			<lines><line><sku>a</sku><notes/></line><anything><sku><![CDATA[b<]]></sku></anything></lines></o:order>`: `{"name":" x < 库 ","priority":4,"weight":1.50,"gift":true,"note":null,"lines":[{"sku":"a","notes":[]},{"sku":"b<"}]}`,
		`<a><labels><area>x</area><label name="a b">y</label></labels></a>`:               `{"labels":{"area":"x","a b":"y"}}`,
		`<a><labels/><lines/><note/><name/><data/></a>`:                                   `{"labels":{},"lines":[],"note":{},"name":"","data":{}}`,
		`<a><data><x>1</x><y><z>2</z></y></data></a>`:                                     `{"data":{"x":"1","y":{"z":"2"}}}`,
		`<a><payload><bin>A</bin><sku>1</sku><sku>2</sku><of><q>1</q></of></payload></a>`: `{"payload":{"bin":"A","sku":["1","2"],"of":{"q":"1"}}}`,
		`<a><payload> as it is </payload></a>`:                                            `{"payload":" as it is "}`,

		// What does not fit is for Check.
		`<a><priority>four</priority><gift>yes</gift><weight/></a>`: `{"priority":"four","gift":"yes","weight":""}`,
		`<a><priority>"4"</priority><gift>null</gift></a>`:          `{"priority":"\"4\"","gift":"null"}`,
		`<a><name><x>1</x></name><lines>x</lines></a>`:              `{"name":{"x":"1"},"lines":"x"}`,
		`<a><name>x</name><name>y</name></a>`:                       `{"name":"x","name":"y"}`,
		`<a/>`:                                                      `{}`,

		``:                                    "the body is not XML: there is no element",
		`x`:                                   "the body is not XML: there is no element",
		`<a>`:                                 "the body is not XML: XML syntax error on line 1: unexpected EOF",
		`<a><b></a>`:                          "the body is not XML: XML syntax error on line 1: element <b> closed by </a>",
		`<a/><a/>`:                            "the body is not XML: something follows the root element",
		`<a>x<name>y</name></a>`:              "the body is not XML: text stands beside elements: x",
		`<a><name code="x">y</name></a>`:      "the body is not XML: element name has the attribute code: members are elements",
		`<a><lines><l name="x"/></lines></a>`: "the body is not XML: element l has the attribute name: members are elements",
		`<!DOCTYPE a []><a/>`:                 "the body is not XML: a directive such as a DOCTYPE is not read: leave it out",
		`<a>&b;</a>`:                          "the body is not XML: XML syntax error on line 1: invalid character entity &b;",
		"<a>\x00</a>":                         "the body is not XML: XML syntax error on line 1: illegal character code U+0000",
		strings.Repeat("<a>", 40):             "the body is not XML: elements are nested more than 32 deep",
		`<?xml version="1.0" encoding="GBK"?><a/>`: "the body is not XML: xml: opening charset \"GBK\": its encoding is GBK: send it in UTF-8",
	} {
		got, fault := schema.FromXML([]byte(given))
		if fault != nil {
			got = []byte(fault.Message)
		}
		if string(got) != want {
			t.Errorf("%s\n is %s\nwant %s", given, got, want)
		}
	}
}

// FuzzFromXML: whatever comes is a fault, or JSON that Check reads.
func FuzzFromXML(f *testing.F) {
	_, _, schema := orderSchema(f)
	for _, seed := range []string{`<a><name>x</name><lines><l><sku>a</sku></l></lines></a>`, `<a><payload><x>1</x><x/></payload><labels><l name="b">c</l></labels></a>`, `<a>`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, given []byte) {
		text, fault := schema.FromXML(given)
		if fault != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is %q", given, text)
		}
		schema.Check(text)
	})
}
