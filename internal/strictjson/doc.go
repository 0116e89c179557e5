// Package strictjson reads JSON that comes from outside.
//
// Member names match exactly, no member comes twice, no member is unknown, texts are UTF-8, and nothing follows the value. Two readers of such a
// value cannot see different things in it. An Error names the place as a JSON pointer. Check reads without decoding, Unmarshal decodes.
package strictjson
