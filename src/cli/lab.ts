/** `heddle lab …`: real OVN on several nodes, on this machine. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { errorText } from '../api/error-text.ts';
import { EXIT } from './output.ts';
import { attachInside } from '../lab/exec.ts';
import { prepare } from '../lab/build.ts';
import { down, requireRoot, runningLab, up } from '../lab/lifecycle.ts';
import type { Families } from '../lab/node-facts.ts';
import { cacheFolder, LabError, nodeCount, stateFolder, type LabKind } from '../lab/paths.ts';
import { labNames, labState } from '../lab/state-file.ts';
import { labStatus, statusText } from '../lab/status.ts';

const progress = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const nameOption = (): Option =>
  new Option('--name <name>', 'which lab, when there are several')
    .default('default')
    .env('HEDDLE_LAB_NAME');

const kindOption = (): Option =>
  new Option(
    '--kind <kind>',
    "'host': on this machine's kernel, 'vm': in a virtual machine with a Debian kernel",
  )
    .choices(['host', 'vm'])
    .default('host');
const nodesOption = (): Option =>
  new Option('--nodes <number>', 'how many nodes').default(3).argParser(countOfNodes);
const familiesOption = (): Option =>
  new Option('--families <families>', 'address families of the networks')
    .choices(['v4', 'v6', 'dual'])
    .default('v4');

/** Throws InvalidArgumentError, which ends the command as any flag that can't be used does. */
function countOfNodes(text: string): number {
  try {
    return nodeCount(text);
  } catch (error) {
    throw new InvalidArgumentError(errorText(error));
  }
}

/** Turns an error meant for people into one line and exit code 1; others keep their stack trace. */
function forPeople<A extends unknown[]>(action: (...args: A) => Promise<void>) {
  return async (...args: A): Promise<void> => {
    try {
      await action(...args);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      process.stderr.write(`heddle lab: ${error.message}\n`);
      process.exitCode = error.isUsage ? EXIT.usage : EXIT.problems;
    }
  };
}

interface Named {
  readonly name: string;
}
interface UpFlags extends Named {
  readonly kind: LabKind;
  readonly nodes: number;
  readonly families: Families;
}

/** What a Kubernetes in a lab has not. */
const KUBERNETES_HELP = `
With --kubernetes the lab has a real Kubernetes API server and etcd, what deploy/ installs, 'heddle cluster', and on each node containerd
with the CNI plugin and 'heddle node'. Stand-ins for kubelet, kube-scheduler and the EndpointSlice controller make containers of pods and
endpoints of services. There is no kube-controller-manager: Deployments, DaemonSets and Jobs make no pods, what belongs to a deleted object
stays, and so does what is in a deleted namespace. Nor are there DNS, images beside heddle.lab/box:1, volumes, 'kubectl exec' and 'logs'.`;

async function status({ name, json }: { name?: string; json?: boolean }): Promise<void> {
  const names = name === undefined ? labNames() : [name];
  const found = [];
  for (const each of names) {
    const lab = labState(each);
    found.push(
      lab.state === 'running'
        ? { state: lab.state, ...(await labStatus(lab.record)) }
        : { name: each, state: lab.state },
    );
  }
  if (json === true) print(JSON.stringify(name === undefined ? found : found[0], undefined, 2));
  else if (found.length === 0) print("no lab is up; start one with 'heddle lab up'");
  else
    for (const lab of found)
      print(
        'nodes' in lab
          ? statusText(lab)
          : lab.state === 'stale'
            ? `lab '${lab.name}' is not running any more; 'heddle lab down --name ${lab.name}' removes what it left`
            : `lab '${lab.name}': there is none`,
      );
  if (name !== undefined && found[0]?.state !== 'running') process.exitCode = 1;
}

export function register(program: Command): void {
  const lab = program
    .command('lab')
    .enablePositionalOptions()
    .description(
      'real OVN on several nodes on this machine, with an underlay, an outside host and pods',
    );

  lab
    .command('up')
    .description('start a lab in the background, and return when all its nodes answer')
    .addOption(nameOption())
    .addOption(kindOption())
    .addOption(nodesOption())
    .addOption(familiesOption())
    .option('--kubernetes', 'with a Kubernetes API server, and pods that kubectl applies')
    .addHelpText('after', KUBERNETES_HELP)
    .action(
      forPeople(async ({ kubernetes, ...options }: UpFlags & { kubernetes?: boolean }) => {
        if (kubernetes !== true) {
          const record = await up({ ...options, progress });
          print(statusText(await labStatus(record)));
          return;
        }
        const { upWithKubernetes, usage } = await import('../lab/kubernetes/cluster.ts');
        const record = await upWithKubernetes({ ...options, progress });
        print(`${statusText(await labStatus(record))}\n\n${usage(record)}`);
      }),
    );

  lab
    .command('kubectl')
    .description("kubectl (Debian's) for a lab with Kubernetes, such as 'kubectl apply -f FILE'")
    .addOption(nameOption())
    .argument('<args...>')
    .passThroughOptions()
    .action(
      forPeople(async (args: string[], { name }: Named) => {
        const { kubectl } = await import('../lab/kubernetes/kubectl.ts');
        process.exitCode = await kubectl(runningLab(name), args, progress);
      }),
    );

  lab
    .command('machine', { hidden: true })
    .description('hold the virtual machine of a lab')
    .requiredOption('--name <name>')
    .action(async ({ name }: Named) => {
      const { holdMachine } = await import('../lab/machine.ts');
      process.exit(await holdMachine(stateFolder(name)));
    });

  lab
    .command('node-runtime', { hidden: true })
    .description('inside a lab with Kubernetes: the stand-in for the kubelet of a node')
    .requiredOption('--name <name>')
    .requiredOption('--node <node>')
    .action(async ({ name, node }: Named & { node: string }) => {
      const { runNodeRuntime } = await import('../lab/kubernetes/processes.ts');
      const { stopSignal } = await import('./options.ts');
      await runNodeRuntime(name, node, stopSignal());
    });
  lab
    .command('controllers', { hidden: true })
    .description('inside a lab with Kubernetes: the stand-ins for its controllers')
    .requiredOption('--name <name>')
    .action(async ({ name }: Named) => {
      const { runControllers } = await import('../lab/kubernetes/processes.ts');
      const { stopSignal } = await import('./options.ts');
      await runControllers(name, stopSignal());
    });

  lab
    .command('run')
    .description(
      "run a command inside, such as 'on n1 ovn-nbctl show', 'each ovs-vsctl show' or 'pod blue/web ip a'",
    )
    .addOption(nameOption())
    .option('--node <node>', 'in the namespaces of this node')
    .argument('<command...>')
    .passThroughOptions()
    .action(
      forPeople(async (args: string[], { name, node }: Named & { node?: string }) => {
        const record = runningLab(name);
        process.exitCode = await attachInside(record, args, node === undefined ? {} : { node });
      }),
    );

  lab
    .command('shell')
    .description('a shell inside, or in the namespaces of one node')
    .addOption(nameOption())
    .argument('[node]')
    .action(
      forPeople(async (node: string | undefined, { name }: Named) => {
        const record = runningLab(name);
        const shell = ['bash', '--rcfile', '/lab/shell-rc', '-i'];
        process.exitCode = await attachInside(record, shell, node === undefined ? {} : { node });
      }),
    );

  lab
    .command('status')
    .description('nodes, services, sockets and versions of the labs that are up')
    .option('--name <name>', 'of this lab only; exit code 1 when it is not up')
    .option('--json', 'as JSON')
    .action(forPeople(status));

  lab
    .command('demo')
    .description(
      './dev up: a lab with the two tenants of examples/two-tenants, measured with packets',
    )
    .addOption(nameOption())
    .addOption(kindOption())
    .addOption(nodesOption())
    .addOption(familiesOption())
    .action(
      forPeople(async (options: UpFlags) => {
        const { demo } = await import('../lab/demo.ts');
        const result = await demo({ ...options, progress });
        print(`\n${result.text}`);
        if (result.unexpected.length > 0) process.exitCode = 1;
      }),
    );

  lab
    .command('daemons')
    .description(
      "start 'heddle node' on every node where it does not run, with the lab's manifests",
    )
    .addOption(nameOption())
    .action(
      forPeople(async ({ name }: Named) => {
        const { startDaemons } = await import('../lab/daemons.ts');
        const started = await startDaemons(runningLab(name));
        print(started.length === 0 ? 'all run already' : `started on ${started.join(', ')}`);
      }),
    );

  lab
    .command('attach')
    .description(
      "start and end the lab's pods, as its manifests and their state say; the daemons must run",
    )
    .addOption(nameOption())
    .action(
      forPeople(async ({ name }: Named) => {
        const record = runningLab(name);
        const { expectManifests } = await import('../lab/daemons.ts');
        expectManifests(record);
        const { readObjects } = await import('../lab/objects.ts');
        const { attachPods } = await import('../lab/pods.ts');
        const { attachContainers } = await import('../lab/runtime/container-pods.ts');
        const { pods, nads } = await readObjects(name);
        const attach = record.kind === 'host' ? attachContainers : attachPods;
        const { attachments, attached, detached } = await attach(record, pods, nads, { progress });
        print(`${attachments.length} pods: ${attached.length} started now, ${detached} ended`);
      }),
    );

  lab
    .command('matrix')
    .description('measure with packets which pods reach which')
    .addOption(nameOption())
    .option('--default', "between the pods' addresses on the cluster default network")
    .option('--json', 'as JSON')
    .action(
      forPeople(async (options: Named & { default?: boolean; json?: boolean }) => {
        const record = runningLab(options.name);
        const { expectManifests } = await import('../lab/daemons.ts');
        expectManifests(record);
        const { attachedPods } = await import('../lab/pods.ts');
        const { connectivity, endpoints, matrixText } = await import('../lab/connectivity.ts');
        const ends = endpoints(
          attachedPods(record),
          options.default === true ? 'default' : 'primary',
        );
        const { outwardConnectivity } = await import('../lab/outward.ts');
        const cells = await connectivity(record, ends);
        const outward = await outwardConnectivity(record, ends);
        print(
          options.json === true
            ? JSON.stringify([...cells, ...outward], undefined, 2)
            : matrixText(ends, cells, outward),
        );
      }),
    );

  lab
    .command('build')
    .description('make what labs start from, in the cache, without starting one')
    .addOption(kindOption())
    .action(
      forPeople(async ({ kind }: { kind: LabKind }) => {
        requireRoot();
        await prepare(kind, progress);
        print(`ready in ${cacheFolder()}`);
      }),
    );

  lab
    .command('down')
    .description('end a lab: nothing of it stays')
    .addOption(nameOption())
    .option('--all', 'end every lab of this machine')
    .action(
      forPeople(async ({ name, all }: Named & { all?: boolean }) => {
        for (const each of all === true ? labNames() : [name])
          print(
            (await down(each, progress)) ? `lab '${each}' is gone` : `there is no lab '${each}'`,
          );
      }),
    );
}
