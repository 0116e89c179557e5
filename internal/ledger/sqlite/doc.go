package sqlite

import _ "modernc.org/sqlite"
import _ "golang.org/x/sys/unix"
import _ "pgregory.net/rapid"
