package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"
)

// secretPrefix marks a secret that is written in base64.
const secretPrefix = "whsec_"

// key makes signatures with one secret.
type key struct{ macs sync.Pool } // of hash.Hash, which to make anew costs more than to use

func newKey(secret []byte) *key {
	return &key{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}
}

// keys reads the secrets.
func keys(secrets []string) ([]*key, error) {
	var all []*key
	for _, secret := range secrets {
		text := []byte(secret)
		if coded, ok := strings.CutPrefix(secret, secretPrefix); ok {
			var err error
			if text, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return nil, errors.New("webhook: a secret begins with whsec_, and what follows is no base64")
			}
		}
		if len(text) == 0 {
			return nil, errors.New("webhook: a secret is empty")
		}
		all = append(all, newKey(text))
	}
	return all, nil
}

// signature is the value of webhook-signature: one for each key, so that a receiver that knows any of them can check it.
func signature(keys []*key, id string, at time.Time, body []byte) string {
	const size = len("v1,") + 44
	head := append(strconv.AppendInt(append([]byte(id), '.'), at.Unix(), 10), '.')
	out := make([]byte, 0, len(keys)*(size+1))
	for i, k := range keys {
		if i > 0 {
			out = append(out, ' ')
		}
		out = k.sign(append(out, "v1,"...), head, body)
	}
	return string(out)
}

// sign appends the hash of both in base64.
func (k *key) sign(out, head, body []byte) []byte {
	mac, _ := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	_, _ = mac.Write(head)
	_, _ = mac.Write(body)
	var sum [sha256.Size]byte
	return base64.StdEncoding.AppendEncode(out, mac.Sum(sum[:0]))
}
