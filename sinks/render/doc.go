// Package render has what the templates of push channels see of a notice, and the templates.
package render
