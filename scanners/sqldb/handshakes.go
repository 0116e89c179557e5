package sqldb

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
)

// Handshakes remembers the certificates that a server sent last.
type Handshakes struct {
	last atomic.Pointer[[]*x509.Certificate]
}

// Watch remembers the certificates of each connection that is made with these settings. Watch does nothing if settings
// is nil, because there is no TLS then.
func (h *Handshakes) Watch(settings *tls.Config) {
	if settings == nil {
		return
	}
	settings.VerifyConnection = func(state tls.ConnectionState) error {
		h.last.Store(&state.PeerCertificates)
		return nil
	}
}

// Certificates implements scanners.Certified.
func (h *Handshakes) Certificates() []*x509.Certificate {
	if last := h.last.Load(); last != nil {
		return *last
	}
	return nil
}
