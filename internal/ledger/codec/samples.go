package codec

import (
	"encoding/json"
	"fmt"

	"tallyman/internal/ledger"
)

// FiguresText encodes the figures of a sample: {"warehouse": {"type": {…}}}. The text is never empty.
func FiguresText(figures map[ledger.Cell]ledger.Figures) (string, error) {
	tree := map[string]map[string]ledger.Figures{}
	for cell, f := range figures {
		if tree[cell.Warehouse] == nil {
			tree[cell.Warehouse] = map[string]ledger.Figures{}
		}
		tree[cell.Warehouse][cell.Type] = f
	}
	b, err := json.Marshal(tree)
	return string(b), err
}

// ParseFigures is the reverse of FiguresText.
func ParseFigures(text string) (map[ledger.Cell]ledger.Figures, error) {
	var tree map[string]map[string]ledger.Figures
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, fmt.Errorf("the figures of a sample: %w", err)
	}
	figures := map[ledger.Cell]ledger.Figures{}
	for warehouse, types := range tree {
		for name, f := range types {
			figures[ledger.Cell{Warehouse: warehouse, Type: name}] = f
		}
	}
	return figures, nil
}
