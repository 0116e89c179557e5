package api

import (
	"context"
	"strings"

	"tallyman/rules/catalog"
)

// Types reads the catalogue.
type Types func(ctx context.Context) (catalog.Catalog, error)

// Name puts the code of a type in the place of its id: business systems know a type by either. The catalogue is asked only where a name may be an id.
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
