"""The end-to-end run: order process, relay process and consumer process over real servers."""
