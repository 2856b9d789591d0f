"""Runs a command at a terminal of its own and repeats what is shown there.

in-terminal.py COLUMNS SEEN SEND COMMAND…: when SEEN has been shown (if it is not empty), SEND is typed.
"""
import fcntl
import os
import pty
import struct
import sys
import termios

columns, seen, send = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode()
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execvp(sys.argv[4], sys.argv[4:])
shown = b''
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:  # the other side has closed it
        break
    if not chunk:
        break
    shown += chunk
    sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
    if seen and seen in shown:
        seen = b''
        os.write(terminal, send)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
