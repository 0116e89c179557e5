package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// secretPrefix marks a secret that is written in base64.
const secretPrefix = "whsec_"

// keys reads the secrets.
func keys(secrets []string) ([][]byte, error) {
	var all [][]byte
	for _, secret := range secrets {
		key := []byte(secret)
		if coded, ok := strings.CutPrefix(secret, secretPrefix); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return nil, errors.New("webhook: a secret begins with whsec_, and what follows is no base64")
			}
		}
		if len(key) == 0 {
			return nil, errors.New("webhook: a secret is empty")
		}
		all = append(all, key)
	}
	return all, nil
}

// signature is the value of webhook-signature: one for each key, so that a receiver that knows any of them can check it.
func signature(keys [][]byte, id string, at time.Time, body []byte) string {
	var out strings.Builder
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		_, _ = mac.Write(body)
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return out.String()
}
