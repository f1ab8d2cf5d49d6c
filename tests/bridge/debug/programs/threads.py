import threading

ready = threading.Event()
leave = threading.Event()


def idle():
    ready.set()
    leave.wait(60)


helper = threading.Thread(target=idle, name="helper", daemon=True)
helper.start()
ready.wait(60)
print("both")
leave.set()
