package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tallyman/internal/text"
)

// takes refuses any other number of arguments than these, and names them.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s takes %s: %s is missing", cmd.CommandPath(), strings.Join(names, " "), strings.Join(names[len(args):], ", "))
		case len(args) > len(names):
			return usage("%s takes %s, and nothing behind: %q", cmd.CommandPath(), strings.Join(names, " "), args[len(names)])
		}
		return nil
	}
}

// diffTakes says besides how a source is named: a value of --source that stands behind a blank is an argument.
func diffTakes(cmd *cobra.Command, args []string) error {
	if len(args) == 3 && cmd.Flags().Changed("source") {
		return usage("%s takes OLD and NEW, not 3 arguments; to name a source write --source=NAME", cmd.CommandPath())
	}
	return takes("OLD", "NEW")(cmd, args)
}

// hasLines declares that the texts of these flags may have several lines.
func hasLines(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, text.Tag, []string{"lines"}); err != nil {
			panic(err) // there is no such flag: a mistake in the program
		}
	}
}

// checkTexts holds arguments and flags to the policy of texts.
func checkTexts(cmd *cobra.Command, args []string) error {
	for i, arg := range args {
		if fault := text.Check(arg, text.Line); fault != nil {
			return usage("argument %d of %s: %w", i+1, cmd.CommandPath(), asError(fault))
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		shape := text.ShapeOf(strings.Join(f.Annotations[text.Tag], ""))
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if fault := text.Check(value, shape); fault != nil && err == nil {
				err = usage("--%s: %w", f.Name, asError(fault))
			}
		}
	})
	return err
}

// asError is the fault with its code.
func asError(fault error) error { return fmt.Errorf("%s: %w", text.Code, fault) }

// checkJSON holds JSON to the policy of texts, as the type says that it is decoded into; T any is JSON of which nothing is known.
func checkJSON[T any](data []byte) error {
	if fault := text.CheckJSON(data, reflect.TypeFor[T]()); fault != nil {
		return asError(fault)
	}
	return nil
}
