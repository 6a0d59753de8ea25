// Command gen prints the pairs of texts from which learn.py learns words.bin:
//
//	gen REPOSITORY.git...    the pairs in the commits and documents of repositories, split into terms
//	gen -split               the lines of the input, split into terms
//
// learn.py runs this command. The comment in learn.py lists the packages that learn.py needs. ../LICENSE.words contains
// the licences of these packages. The present table was learned from these repositories: ansible, AdGuardHome, bevy,
// caddy, cargo, celery, certbot, curl, excalidraw, git, iD, invoiceninja, minetest, moby, mpv, nomad, obs-studio,
// OpenRA, openzfs, paperless-ngx, prometheus, pytest, rails, redis, restic, tauri, timescaledb, tldr, traefik,
// uptime-kuma, vite and 30-seconds-of-code, in November 2026.
//
// It may import internal/terms.
package main
