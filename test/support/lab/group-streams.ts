/** What a member of a multicast group, or who has an address, hears while something happens to it, of one who sends there every 10 ms. */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { until } from '../run/until.ts';
import type { Where } from './sctp-associations.ts';

/** Sends numbers; or joins the group, if it is one, and says when it hears the first one, after SIGUSR1 the next one, and at SIGTERM what it heard. */
const PROGRAM = `
import json, os, signal, socket, struct, sys, time
what, device, group, port = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
index = socket.if_nametoindex(device)
member = struct.pack('4s4si', socket.inet_aton(group), bytes(4), index)
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if what == 'send':
    own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, member)
    n = 0
    while True:
        try:
            own.sendto(str(n).encode(), (group, port))
        except OSError:
            pass
        n += 1
        time.sleep(0.01)
heard, twice, is_asked = {}, 0, True
def ask(*_):
    global is_asked
    is_asked = True
def end(*_):
    all = sorted(heard)
    missed = [b - a - 1 for a, b in zip(all, all[1:])]
    print(json.dumps({'heard': len(all), 'twice': twice, 'missed': sum(missed)}), flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, ask)
own.bind((group, port))
if socket.inet_aton(group)[0] >> 4 == 14:
    own.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
while True:
    number = int(own.recv(100))
    twice += number in heard
    heard[number] = True
    if is_asked:
        is_asked = False
        print('hears', flush=True)
`;

export interface GroupMember {
  readonly where: Where;
  readonly device: string;
}

export interface Heard {
  readonly heard: number;
  /** Of these, those that came more than once. */
  readonly twice: number;
  /** Between the first and the last one. */
  readonly missed: number;
}

/** What the member heard of the sender while `during` ran, from when it heard the first one on; `during` can wait until it hears one more. */
export async function whileHearing(
  lab: LabRecord,
  { sender, member, group }: { sender: GroupMember; member: GroupMember; group: string },
  during: (heardAgain: () => Promise<void>) => Promise<void>,
): Promise<Heard> {
  const id = randomUUID();
  const program = (what: string, { where, device }: GroupMember): string[] => [
    ...where,
    'python3',
    '-c',
    PROGRAM,
    what,
    device,
    group,
    '5007',
    `${what}-${id}`,
  ];
  const signal = (name: string, what: string): Promise<unknown> =>
    runInside(lab, ['pkill', `-${name}`, '--full', `^python3 .* ${what}-${id}$`]);
  const hears = (): Promise<void> => until('the member of a group hears', () => isHeard);
  let isHeard = false;
  const sending = runInside(lab, program('send', sender));
  const hearing = outputInside(lab, program('hear', member), { onStdout: () => (isHeard = true) });
  try {
    await hears();
    await during(async () => {
      isHeard = false;
      await signal('USR1', 'hear');
      await hears();
    });
  } finally {
    await signal('TERM', 'hear');
    await signal('TERM', 'send');
    await Promise.allSettled([sending, hearing]);
  }
  const text = await hearing;
  return JSON.parse(text.slice(text.indexOf('{'))) as Heard;
}
