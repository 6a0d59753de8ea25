package embedding

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// check refuses the addresses of metadata services, which give a cloud machine's credentials to every program on it.
func check(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("embedding.endpoint is no address of the form https://host/v1")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if addr, ok := addressOf(host); slices.Contains([]string{"metadata.google.internal", "metadata.goog"}, host) ||
		ok && (addr.IsLinkLocalUnicast() || addr == netip.MustParseAddr("fd00:ec2::254")) {
		return fmt.Errorf("embedding.endpoint names %s, which serves no embeddings", host)
	}
	return nil
}

// addressOf also reads unusual spellings of an IP address, because the operating system may understand them. For
// example, 2852039166 is 169.254.169.254.
func addressOf(host string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	parts := strings.Split(host, ".")
	var value uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		isLast := i == len(parts)-1
		if err != nil || len(parts) > 4 || !isLast && n > 255 {
			return netip.Addr{}, false
		}
		if isLast {
			value = value<<(8*(4-i)) | n
		} else {
			value = value<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), value <= 1<<32-1
}
