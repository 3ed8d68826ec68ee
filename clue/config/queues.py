"""Build the jobs submitted to the options of a comparison, and the values of criteria with keys of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from clue.config.accounting import AccountedJob, notes_of, read_accounting
from clue.config.document import Path
from clue.config.faults import did_you_mean
from clue.config.queue_schema import (
    JobClassForm,
    OfficeHoursForm,
    PlainCriterionName,
    QueueForm,
    SsiForm,
    SspForm,
)
from clue.config.reading import Reading
from clue.errors import ConfigError
from clue.purchase.queue.mix import WEEK, JobClass, Mix, OfficeHours, Policy, Recorded, Sharing
from clue.purchase.scenario import Criterion, Workload
from clue.purchase.sustained import Reference, ReferenceSystem
from clue.units import MONTH, format_time

_DAY = 86400.0
#: Smallest numbers of weeks with office hours: in a replication, and after its warm-up, where only whole weeks count.
_WEEKS, _WEEKS_COUNTED = 4, 3
#: Criteria that need jobs.
_OF_QUEUES = ("waiting", "slowdown", "unused_nodes", "job_throughput")
#: Largest number of names of unclassified jobs in a message.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class QueueReader:
    """Reads jobs and their queue.

    Attributes:
        reading: The comparison being read.
        workloads: Its workloads.
    """

    reading: Reading
    workloads: Sequence[Workload]

    def mix(self, forms: Mapping[str, JobClassForm], queue: QueueForm | None) -> Mix | None:
        """Build the job mix; ``None`` if none is stated, or if it has faults."""
        form = queue or QueueForm.model_validate({})
        if not forms and form.accounting is None:
            if queue is not None:
                self._fault(("queue",), "must be given with jobs, or have an accounting file, got neither", of_key=True)
            return None
        found = [self._job_class(name, each, form) for name, each in forms.items()]
        classes = tuple(each for each in found if each is not None)
        self._check_submission(forms, form)
        hours = None if form.office_hours is None else self._office_hours(form.office_hours, forms, form)
        recorded = None
        if form.accounting is not None and len(classes) == len(forms):
            recorded = self._recorded(form, forms)
        elif form.others is not None and form.accounting is None:
            self._fault(("queue", "others"), "must be given with an accounting file, got none", of_key=True)
        return Mix(
            classes=classes,
            policy=Policy(form.policy),
            office_hours=hours,
            jobs=form.jobs,
            warm_up=form.warm_up,
            replications=form.replications,
            seed=form.seed,
            sharing=Sharing(form.sharing),
            recorded=recorded,
        )

    # --- classes ---

    def _job_class(self, name: str, form: JobClassForm, queue: QueueForm) -> JobClass | None:
        path: Path = ("jobs", name)
        workload = self._workload(path, form.workload or name, named=form.workload is not None)
        if workload is None:
            return None
        ranks = dict.fromkeys([form.ranks], 1.0) if isinstance(form.ranks, int) else dict(form.ranks or {})
        for each in ranks:
            if workload.ranks and each not in workload.ranks:
                known = ", ".join(map(str, workload.ranks))
                rule = f"must be numbers of ranks that {workload.name} has ({known}), got {each}"
                self._fault((*path, "ranks"), rule)
        if queue.sharing == "copies":
            ranks = ranks or (dict.fromkeys(workload.ranks, 1.0) if len(workload.ranks) == 1 else {})
            if workload.ranks and not ranks:
                self._fault((*path, "ranks"), "must be given if jobs run beside copies, got nothing")
            if workload.instances != 1:
                rule = f"must be of 1 instance if jobs run beside copies, got {workload.instances or 'fill'}"
                self._fault((*path, "workload"), rule)
        if form.time_limit is not None and form.overestimate is not None:
            self._fault((*path, "overestimate"), "must be given without time_limit, got both", of_key=True)
        if form.names is not None and queue.accounting is None:
            self._fault((*path, "names"), "must be given with an accounting file, got none", of_key=True)
        if form.overestimate is not None and queue.accounting is not None:
            rule = "must not be given with an accounting file, which has the requested limits, got both"
            self._fault((*path, "overestimate"), rule, of_key=True)
        return JobClass(
            name=name,
            workload=workload.name,
            rate=(form.per_month or 0.0) / MONTH,
            ranks=ranks,
            limit=form.time_limit,
            overestimate=form.overestimate or 1.0,
            variation=form.variation,
            weight=form.weight,
            submitted=tuple(sorted(form.submitted or ())),
        )

    def _workload(self, path: Path, name: str, *, named: bool) -> Workload | None:
        known = {workload.name: workload for workload in self.workloads}
        if name not in known:
            rule = f'must be a workload ({", ".join(known)}), got "{name}"{did_you_mean(name, known)}'
            self._fault((*path, "workload") if named else path, rule, of_key=not named)
        return known.get(name)

    def _check_submission(self, forms: Mapping[str, JobClassForm], queue: QueueForm) -> None:
        """Check that submission times are stated once, and in the same way for all classes."""
        listed = any(form.submitted is not None for form in forms.values())
        for name, form in forms.items():
            path: Path = ("jobs", name)
            stated = [key for key in ("per_month", "submitted") if getattr(form, key) is not None]
            if queue.accounting is not None:
                for key in stated:
                    self._fault((*path, key), "must not be given with an accounting file, got both", of_key=True)
            elif len(stated) == 2:
                self._fault((*path, "submitted"), "must be given without per_month, got both", of_key=True)
            elif not stated:
                self._fault((*path, "per_month"), "must be given (or submitted), got nothing")
            elif listed and form.submitted is None:
                self._fault((*path, "submitted"), "must be given if another class has it, got nothing")

    def _office_hours(
        self, form: OfficeHoursForm, forms: Mapping[str, JobClassForm], queue: QueueForm
    ) -> OfficeHours | None:
        path: Path = ("queue", "office_hours")
        if queue.accounting is not None or any(each.submitted is not None for each in forms.values()):
            self._fault(path, "must not be given with submission times, got both", of_key=True)
        if not form.begin < form.to <= _DAY:
            rule = f"must be after from ({format_time(form.begin)}) on the same day, got {format_time(form.to)}"
            self._fault((*path, "to"), rule)
            return None
        weeks = max(_WEEKS, _WEEKS_COUNTED / (1 - queue.warm_up))
        needed = math.ceil(weeks * WEEK * sum(each.per_month or 0.0 for each in forms.values()) / MONTH)
        if queue.jobs < needed:
            rule = f"must be at least {needed}, so that a replication has {weeks:.4g} weeks with office hours"
            after = f", {_WEEKS_COUNTED} of them after the warm-up" if weeks > _WEEKS else ""
            self._fault(("queue", "jobs"), f"{rule}{after}, got {queue.jobs}")
        return OfficeHours(form.begin, form.to, form.share)

    # --- accounting ---

    def _recorded(self, form: QueueForm, forms: Mapping[str, JobClassForm]) -> Recorded | None:
        import numpy as np  # noqa: PLC0415 - only comparisons with jobs need numpy

        assert form.accounting is not None
        try:
            found = read_accounting(self.reading.base / form.accounting)
        except ConfigError as error:
            self.reading.faults.take(error)
            return None
        kinds = self._kinds(found.jobs, forms)
        notes = list(notes_of(found, form.accounting))
        others = kinds.count(-1)
        if others and form.others is None and forms:
            names = list(dict.fromkeys(job.name for job, kind in zip(found.jobs, kinds, strict=True) if kind < 0))
            told = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
            rule = f"must be given (as recorded, or left out) if jobs belong to no class, got nothing: {others:,} of "
            self._fault(("queue", "others"), f"{rule}{len(kinds):,} belong to none ({told})")
            return None
        jobs = [
            (job, kind) for job, kind in zip(found.jobs, kinds, strict=True) if kind >= 0 or form.others != "left out"
        ]
        if not jobs:
            self._fault(("queue", "accounting"), f"must have jobs of a class, got none of {len(kinds):,}")
            return None
        if others:
            how = "are left out" if form.others == "left out" else "run as recorded on every option"
            notes.append(f"{form.accounting}: {others:,} of {len(kinds):,} jobs belong to no class and {how}")
        found_kinds = set(kinds)
        unused = (name for number, name in enumerate(forms) if number not in found_kinds)
        notes += (f"{form.accounting}: no job belongs to class {name}" for name in unused)
        waits = [job.waited for job, _ in jobs if job.waited is not None]
        if waits:
            mean = format_time(sum(waits) / len(waits))
            notes.append(f"{form.accounting}: jobs waited {mean} on average where they were recorded")
        submit = np.array([job.submit for job, _ in jobs])
        return Recorded(
            file=form.accounting,
            submit=submit - submit[0],
            kind=np.array([kind for _, kind in jobs], np.int64),
            nodes=np.array([job.nodes for job, _ in jobs], np.int64),
            run=np.array([job.run for job, _ in jobs]),
            limit=np.array([job.limit for job, _ in jobs]),
            notes=tuple(notes),
        )

    def _kinds(self, jobs: Iterable[AccountedJob], forms: Mapping[str, JobClassForm]) -> list[int]:
        """Return the class of each job, the first with a matching name; -1 for none."""
        patterns = [
            (i, pattern)
            for i, (name, form) in enumerate(forms.items())
            for pattern in (
                [name] if form.names is None else [form.names] if isinstance(form.names, str) else form.names
            )
        ]
        known: dict[str, int] = {}
        found = []
        for job in jobs:
            if job.name not in known:
                known[job.name] = next((i for i, pattern in patterns if fnmatchcase(job.name, pattern)), -1)
            found.append(known[job.name])
        return found

    # --- criteria ---

    def weighted(self, form: Mapping[PlainCriterionName, float], criteria: Sequence[str]) -> Mapping[Criterion, float]:
        """Build the weights of a weighted sum."""
        if form and sum(form.values()) == 0:
            self._fault(("weighted",), "must have weights that sum to more than 0, got 0")
        if form and "weighted" not in criteria:
            self._fault(("weighted",), "must be given with the criterion weighted, got another one", of_key=True)
        if not form and "weighted" in criteria:
            self._fault(("weighted",), "must be given for the criterion weighted, got nothing")
        return {Criterion(name): weight for name, weight in form.items() if weight > 0}

    def operations(self, form: SspForm | None, criteria: Sequence[str]) -> Mapping[str, float]:
        """Build the operations that the SSP counts."""
        found = {} if form is None else dict(form.operations)
        self._check_workloads(("ssp", "operations"), found, needed="ssp" in criteria)
        return found

    def reference(self, form: SsiForm | None, criteria: Sequence[str]) -> ReferenceSystem | None:
        """Build the reference system of the SSI."""
        forms = {} if form is None else form.workloads
        self._check_workloads(("ssi", "workloads"), forms, needed="ssi" in criteria)
        if form is None:
            return None
        for name, each in forms.items():
            if each.nodes > form.nodes:
                rule = f"must be at most those of the system ({form.nodes}), got {each.nodes}"
                self._fault(("ssi", "workloads", name, "nodes"), rule)
        found = {name: Reference(each.nodes, each.time, each.capability) for name, each in forms.items()}
        return ReferenceSystem(form.nodes, found)

    def check_jobs(self, mix: Mix | None, criteria: Sequence[str], *, limited: bool) -> None:
        """Check that there are jobs if a criterion or a limit needs them."""
        wanted = [name for name in criteria if name in _OF_QUEUES]
        if mix is None and (wanted or limited) and not self.reading.faults:
            what = f"the criterion {wanted[0]}" if wanted else "a limit on waiting"
            self._fault(("jobs",), f"must be given for {what}, got nothing")

    def _check_workloads(self, path: Path, given: Mapping[str, object], *, needed: bool) -> None:
        known = {workload.name: workload for workload in self.workloads}
        for name in given:
            if name not in known:
                rule = f'must be a workload ({", ".join(known)}), got "{name}"{did_you_mean(name, known)}'
                self._fault((*path, name), rule, of_key=True)
        for name, workload in known.items():
            if (needed or given) and name not in given:
                self._fault((*path, name), "must be given, got nothing")
            elif name in given and workload.instances is None:
                self._fault((*path, name), "must be of a workload with a number of instances, got fill", of_key=True)

    def _fault(self, path: Path, rule: str, *, of_key: bool = False) -> None:
        self.reading.fault(path, rule, of_key=of_key)


def criteria_of(criterion: str, pareto: Iterable[str] | None, weighted: Iterable[str]) -> Iterator[str]:
    """Yield every criterion that a comparison names."""
    yield from (criterion, *(pareto or ()), *weighted)
