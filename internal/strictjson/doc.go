// Package strictjson reads JSON that comes from outside.
//
// Names of members must match exactly. No member comes twice, and none is unknown. Texts are UTF-8, and nothing follows
// the value. Therefore two readers cannot understand such a value in different ways. Unmarshal decodes a value, and
// Check reads it without decoding. An Error names its place as a path such as .notices[0].title.
package strictjson
