d.number, d.id, d.kept_s, d.kind, d.start_s, d.host, d.command, d.profile, d.grade, d.tool_version,
d.label, d.note, d.revision, d.bytes,
(SELECT json_group_array(path) FROM target WHERE document = d.number),
(SELECT json_group_array(json_object('name', name, 'model', nullif(model, ''), 'firmware', nullif(firmware, '')))
    FROM device WHERE document = d.number),
(SELECT json_group_array(tag) FROM tag WHERE document = d.number),
(SELECT json_group_object(metric, json(format('%!.17g', value))) FROM figure WHERE document = d.number),
(SELECT json_group_array(json_object('name', name, 'profile', profile, 'command', command, 'figures', json(figures)))
    FROM (SELECT p.name, p.profile, p.command, json_group_object(f.metric, json(format('%!.17g', f.value))) AS figures
        FROM part p JOIN part_figure f ON f.document = p.document AND f.place = p.place
        WHERE p.document = d.number GROUP BY p.place ORDER BY p.place))
