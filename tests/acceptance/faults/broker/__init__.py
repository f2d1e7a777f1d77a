"""A broker that can be made to misbehave: a process of its own that keeps a journal per topic.

What a broker does to an outbox is: take, confirm, refuse, stay silent, or be away. This one does
each of them on demand, and writes down who sent what, and when: against that the runs count. It
is no stand-in for RocketMQ, which the end-to-end run and a part of this one use.
"""
