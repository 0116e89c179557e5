package text

import "fmt"

// controls are the usual names of U+0000 to U+001F.
var controls = [...]string{
	"NULL", "START OF HEADING", "START OF TEXT", "END OF TEXT", "END OF TRANSMISSION", "ENQUIRY", "ACKNOWLEDGE", "BELL", "BACKSPACE", "TAB",
	"LINE FEED", "LINE TABULATION", "FORM FEED", "CARRIAGE RETURN", "SHIFT OUT", "SHIFT IN", "DATA LINK ESCAPE", "DEVICE CONTROL 1",
	"DEVICE CONTROL 2", "DEVICE CONTROL 3", "DEVICE CONTROL 4", "NEGATIVE ACKNOWLEDGE", "SYNCHRONOUS IDLE", "END OF TRANSMISSION BLOCK", "CANCEL",
	"END OF MEDIUM", "SUBSTITUTE", "ESCAPE", "FILE SEPARATOR", "GROUP SEPARATOR", "RECORD SEPARATOR", "UNIT SEPARATOR",
}

// Name is how people call a character that the policy refuses, such as "U+0000 (NULL)".
func Name(r rune) string {
	name := "a control character"
	switch {
	case r >= 0 && int(r) < len(controls):
		name = controls[r]
	case r == 0x7f:
		name = "DELETE"
	case r == 0x85:
		name = "NEXT LINE"
	case r == 0x9b:
		name = "CONTROL SEQUENCE INTRODUCER"
	case r >= 0x202a && r <= 0x202e:
		name = [...]string{
			"LEFT-TO-RIGHT EMBEDDING", "RIGHT-TO-LEFT EMBEDDING", "POP DIRECTIONAL FORMATTING", "LEFT-TO-RIGHT OVERRIDE", "RIGHT-TO-LEFT OVERRIDE",
		}[r-0x202a]
	case r >= 0x2066 && r <= 0x2069:
		name = [...]string{
			"LEFT-TO-RIGHT ISOLATE", "RIGHT-TO-LEFT ISOLATE", "FIRST STRONG ISOLATE", "POP DIRECTIONAL ISOLATE",
		}[r-0x2066]
	case r >= 0xd800 && r <= 0xdfff:
		name = "half of a surrogate pair"
	}
	return fmt.Sprintf("U+%04X (%s)", r, name)
}
