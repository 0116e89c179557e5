package api

import (
	"context"
	"strings"

	"tallyman/rules/catalog"
)

// Types reads the catalogue.
type Types func(ctx context.Context) (catalog.Catalog, error)

// Name replaces each name that is the id of a type by the code of the type, because business systems know types by
// either. Name reads the catalogue only if a name can be an id.
func (read Types) Name(ctx context.Context, names ...*string) error {
	var types catalog.Catalog
	for _, name := range names {
		if *name == "" || strings.Trim(*name, "0123456789") != "" {
			continue
		}
		if types == nil {
			var err error
			if types, err = read(ctx); err != nil {
				return err
			}
		}
		*name = types.Code(*name)
	}
	return nil
}
