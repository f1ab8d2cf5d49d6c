import time

count = 0
print("ready", flush=True)
while True:
    count += 1
    time.sleep(0.01)
